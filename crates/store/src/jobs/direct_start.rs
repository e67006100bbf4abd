use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, mpsc};

use crate::Claimed;
use crate::library::fcall::list;
use crate::news::pool_handles::PoolHandles;
use hero_model::ScriptType;

/// The pools of this process that take direct starts: a new job starts in the same call that stores it.
///
/// That saves a round trip and the way through the queue. The function does it only while the queues of the pool are empty, so that no job
/// is overtaken.
#[derive(Debug, Default)]
pub struct DirectStarts(PoolHandles<DirectStart>);

/// The offer of one pool for direct starts.
#[derive(Debug)]
pub struct DirectStart {
    /// The names of its actors.
    actors: Vec<String>,
    /// Its queues, in the form that functions take.
    queues: String,
    room: AtomicUsize,
    reserved: AtomicUsize,
    /// Notified when no reservation is left.
    closed: Notify,
    /// Whether a job may have started that the pool does not know of, because the answer got lost.
    unsure: AtomicBool,
    jobs: mpsc::UnboundedSender<Claimed>,
}

/// Room for one job, returned when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    direct_start: Arc<DirectStart>,
    actor_index: usize,
}

impl DirectStarts {
    /// Lets a pool take direct starts as long as the first value is kept. The jobs arrive at the receiver.
    pub fn open(
        &self,
        script_type: &ScriptType,
        actors: Vec<String>,
        queues: impl IntoIterator<Item = String>,
    ) -> (Arc<DirectStart>, mpsc::UnboundedReceiver<Claimed>) {
        // The room of the pool bounds the channel.
        let (jobs, incoming) = mpsc::unbounded_channel();
        let (room, reserved, unsure) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let direct_start = Arc::new(DirectStart { actors, queues: list(queues), room, reserved, closed: Notify::new(), unsure, jobs });
        self.0.enter(script_type, &direct_start);
        (direct_start, incoming)
    }

    /// Reserves room for one job of a type, if a pool has any.
    pub(crate) fn reserve(&self, script_type: &ScriptType) -> Option<Reservation> {
        self.0.find_map(script_type, |direct_start| {
            // The reservation is counted before the room is taken, so that a pool that closes does not miss it.
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
    /// Sets how many more jobs the pool can hold. Reservations count against this number.
    pub fn set_room(&self, room: usize) {
        self.room.store(room.saturating_sub(self.reserved.load(Ordering::SeqCst)), Ordering::SeqCst);
    }

    /// Whether no reservation is left, so that no job arrives any more once the room is zero.
    pub fn is_closed(&self) -> bool {
        self.reserved.load(Ordering::SeqCst) == 0
    }

    /// Waits until no reservation is left; it may also return while there is one.
    pub async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Whether a job may have started that the pool does not know of. Reading it resets it.
    pub fn take_unsure(&self) -> bool {
        self.unsure.swap(false, Ordering::SeqCst)
    }
}

impl Reservation {
    /// The name of the actor for which the job starts.
    pub(crate) fn actor(&self) -> Option<&str> {
        self.direct_start.actors.get(self.actor_index).map(String::as_str)
    }

    /// The index of that actor among the actors of the pool.
    pub(crate) fn actor_index(&self) -> usize {
        self.actor_index
    }

    /// The queues that must be empty, in the form that functions take.
    pub(crate) fn queues(&self) -> &str {
        &self.direct_start.queues
    }

    /// Whether two reservations belong to the same pool.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.direct_start, &other.direct_start)
    }

    /// Hands the started job to the pool. If the pool has just gone, the lease of the job runs out.
    pub(crate) fn fill(self, job: Claimed) {
        let _ = self.direct_start.jobs.send(job);
    }

    /// Records that the answer got lost: the job may have started.
    pub(crate) fn lost(self) {
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
