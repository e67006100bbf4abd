use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};

use super::Claimed;
use super::fcall::list;
use super::registry::Registry;
use hero_model::ScriptType;

/// The pools of this process that take direct starts: a new job starts in the very call that stores it.
///
/// That saves a round trip and the way through the queue. It is done only while the queues of the pool are empty, which the
/// function checks, so that nobody is overtaken.
#[derive(Debug, Default)]
pub struct DirectStarts(Registry<DirectStart>);

/// What one pool takes by direct starts, and how much.
#[derive(Debug)]
pub struct DirectStart {
    /// The names of its actors.
    actors: Vec<String>,
    /// Its queues, as functions are told.
    queues: String,
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
    direct_start: Arc<DirectStart>,
    actor_index: usize,
}

impl DirectStarts {
    /// Lets a pool take direct starts, as long as the first value is kept: the jobs arrive at the receiver.
    pub fn open(
        &self,
        script_type: &ScriptType,
        actors: Vec<String>,
        queues: impl IntoIterator<Item = String>,
    ) -> (Arc<DirectStart>, mpsc::UnboundedReceiver<Claimed>) {
        // Bounded by the room of the pool.
        let (jobs, incoming) = mpsc::unbounded_channel();
        let (room, reserved, unsure) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let direct_start = Arc::new(DirectStart { actors, queues: list(queues), room, reserved, closed: Notify::new(), unsure, jobs });
        self.0.enter(script_type, &direct_start);
        (direct_start, incoming)
    }

    /// Room for one job of a type, if a pool has any.
    pub(super) fn reserve(&self, script_type: &ScriptType) -> Option<Reservation> {
        self.0.find_map(script_type, |direct_start| {
            // Counted before it is taken, so that a pool that closes never misses one.
            direct_start.reserved.fetch_add(1, Ordering::SeqCst);
            let mut reservation = Reservation { direct_start, actor_index: 0 };
            let room = &reservation.direct_start.room;
            let before = room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1)).ok()?;
            reservation.actor_index = before % reservation.direct_start.actors.len().max(1);
            Some(reservation)
        })
    }
}

impl DirectStart {
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
    pub(super) fn actor(&self) -> Option<&str> {
        self.direct_start.actors.get(self.actor_index).map(String::as_str)
    }

    /// The number of that actor among those of the pool.
    pub(super) fn actor_index(&self) -> usize {
        self.actor_index
    }

    /// The queues that must be empty, as functions are told.
    pub(super) fn queues(&self) -> &str {
        &self.direct_start.queues
    }

    /// Whether two reservations are of one pool.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.direct_start, &other.direct_start)
    }

    /// Hands the started job to the pool. A pool that has just gone leaves it to its lease.
    pub(super) fn fill(self, job: Claimed) {
        let _ = self.direct_start.jobs.send(job);
    }

    /// The answer got lost: the job may have been started.
    pub(super) fn lost(self) {
        self.direct_start.unsure.store(true, Ordering::SeqCst);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if self.direct_start.reserved.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.direct_start.closed.notify_one();
        }
    }
}
