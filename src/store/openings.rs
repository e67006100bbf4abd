use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};

use super::Claimed;
use super::registry::Registry;
use crate::model::ScriptType;

/// Pools of this process that have room, so that a new job can start in the very function that stores it.
///
/// That saves a round trip and the way through the queue. It is done only while the queues of the pool are empty, which the
/// function checks, so that nobody is overtaken.
#[derive(Debug, Default)]
pub struct Openings(Registry<Opening>);

/// The room of one pool.
#[derive(Debug)]
pub struct Opening {
    /// The names of its actors.
    actors: Vec<String>,
    /// Its queues.
    queues: Vec<String>,
    room: AtomicUsize,
    reserved: AtomicUsize,
    /// Told when nothing is reserved any more.
    closed: Notify,
    /// Whether a job may have been started that nobody knows of, because the answer got lost.
    unsure: AtomicBool,
    jobs: mpsc::UnboundedSender<Claimed>,
}

/// Room for one job, given back when dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    opening: Arc<Opening>,
    slot: usize,
}

impl Openings {
    /// Opens a pool: what was started for it arrives at the receiver. It is open as long as the opening is kept.
    pub fn open(
        &self,
        script_type: &ScriptType,
        actors: Vec<String>,
        queues: Vec<String>,
    ) -> (Arc<Opening>, mpsc::UnboundedReceiver<Claimed>) {
        // Bounded by the room of the pool.
        let (jobs, incoming) = mpsc::unbounded_channel();
        let (room, reserved, unsure) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let opening = Arc::new(Opening { actors, queues, room, reserved, closed: Notify::new(), unsure, jobs });
        self.0.enter(script_type, &opening);
        (opening, incoming)
    }

    /// Room for one job of a type, if a pool has any.
    pub(super) fn reserve(&self, script_type: &ScriptType) -> Option<Reservation> {
        self.0.find_map(script_type, |opening| {
            // Counted before it is taken, so that a pool that closes never misses one.
            opening.reserved.fetch_add(1, Ordering::SeqCst);
            let mut reservation = Reservation { opening, slot: 0 };
            let room = &reservation.opening.room;
            let before = room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1)).ok()?;
            reservation.slot = before % reservation.opening.actors.len().max(1);
            Some(reservation)
        })
    }
}

impl Opening {
    /// Says how many more jobs the pool can hold. What is reserved already counts against it.
    pub fn set_room(&self, room: usize) {
        self.room.store(room.saturating_sub(self.reserved.load(Ordering::SeqCst)), Ordering::SeqCst);
    }

    /// Whether nothing is reserved, so that nothing arrives any more once the room is zero.
    pub fn is_closed(&self) -> bool {
        self.reserved.load(Ordering::SeqCst) == 0
    }

    /// Waits until nothing is reserved any more; it may also return when something is.
    pub async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Whether a job may have been started that nobody knows of; asking forgets it.
    pub fn take_unsure(&self) -> bool {
        self.unsure.swap(false, Ordering::SeqCst)
    }
}

impl Reservation {
    /// The actor for which the job starts.
    pub(super) fn actor(&self) -> &str {
        self.opening.actors.get(self.slot).map_or("", String::as_str)
    }

    /// The slot of that actor.
    pub(super) fn slot(&self) -> usize {
        self.slot
    }

    /// The queues that must be empty.
    pub(super) fn queues(&self) -> &[String] {
        &self.opening.queues
    }

    /// Whether two reservations are of one pool.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.opening, &other.opening)
    }

    /// Hands the started job to the pool. A pool that has just gone leaves it to its lease.
    pub(super) fn fill(self, job: Claimed) {
        let _ = self.opening.jobs.send(job);
    }

    /// The answer got lost: the job may have been started.
    pub(super) fn lost(self) {
        self.opening.unsure.store(true, Ordering::SeqCst);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.opening.reserved.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.opening.closed.notify_one();
        }
    }
}
