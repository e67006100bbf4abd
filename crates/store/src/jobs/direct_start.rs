use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

use super::ended::Ended;
use super::speculative_run::SpeculativeRun;
use crate::Claimed;
use crate::library::fcall::list;
use crate::news::pool_handles::PoolHandles;
use hero_model::{JobId, ScriptType};

/// A pool runs no job before it is stored for this long after such a run was in vain: the next ones would be as well.
const DISTRUST_TIME: Duration = Duration::from_secs(1);
/// While this many speculative runs of a pool are undecided, the store answers slowly, and no more begin.
const MAX_UNDECIDED: usize = 256;

/// The pools of this process that take direct starts: a new job starts in the same call that stores it.
///
/// That saves a round trip and the way through the queue. The function does it only while the queues of the pool are empty, so that no job
/// is overtaken.
#[derive(Debug, Default)]
pub struct DirectStarts(PoolHandles<DirectStart>);

/// The offer of one pool for direct starts.
pub struct DirectStart {
    /// The names of its actors.
    actors: Vec<String>,
    /// Its queues, in the form that functions take.
    queues: String,
    room: AtomicUsize,
    reserved: AtomicUsize,
    /// The number of speculative runs whose creation has not been answered.
    undecided: AtomicUsize,
    /// Notified when no reservation and no undecided run is left.
    closed: Notify,
    /// Whether a job may have started that the pool does not know of, because the answer got lost.
    unsure: AtomicBool,
    /// Notes the lease of a job; nothing if the pool runs no job before it is stored.
    noted_lease: Option<NotedLease>,
    /// Whether its speculative runs are worth their time.
    trust: Trust,
    jobs: mpsc::UnboundedSender<DirectJob>,
}

/// Called with a job and its claim when a speculative run has become the run of a stored job.
pub type NotedLease = Box<dyn Fn(&JobId, u32) + Send + Sync>;

/// A message about a job to the pool that runs it.
#[derive(Debug)]
pub enum DirectJob {
    /// It has started; a job with a [speculative run](crate::SpeculativeRun) starts before it is stored.
    Start(Claimed),
    /// Its speculative run had ended when it was stored. This end is to be recorded.
    Ended(Ended),
    /// It was not stored as started, so this run of it is to be stopped and forgotten. The job may be here once more by now.
    Dropped(JobId, SpeculativeRun),
}

/// The pool and the actor for a job.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    direct_start: Arc<DirectStart>,
    actor_index: usize,
}

/// Room for one job, returned when dropped.
#[derive(Debug)]
pub(crate) struct Reservation(Place);

impl DirectStarts {
    /// Lets a pool take direct starts as long as the first value is kept. The jobs arrive at the receiver.
    ///
    /// With `noted_lease` the pool also runs jobs before they are stored. Its engines must do nothing outside that it does not hold back until
    /// [`SpeculativeRun::stored`](crate::SpeculativeRun::stored).
    pub fn open(
        &self,
        script_type: &ScriptType,
        actors: Vec<String>,
        queues: impl IntoIterator<Item = String>,
        noted_lease: Option<NotedLease>,
    ) -> (Arc<DirectStart>, mpsc::UnboundedReceiver<DirectJob>) {
        // The room of the pool bounds the channel.
        let (jobs, incoming) = mpsc::unbounded_channel();
        let direct_start = Arc::new(DirectStart {
            actors,
            queues: list(queues),
            room: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            undecided: AtomicUsize::new(0),
            closed: Notify::new(),
            unsure: AtomicBool::new(false),
            noted_lease,
            trust: Trust::default(),
            jobs,
        });
        self.0.enter(script_type, &direct_start);
        (direct_start, incoming)
    }

    /// Reserves room for one job of a type, if a pool has any.
    pub(crate) fn reserve(&self, script_type: &ScriptType) -> Option<Reservation> {
        self.reserve_where(script_type, |_| true)
    }

    /// Reserves room for a job that runs before it is stored.
    pub(crate) fn reserve_to_speculate(&self, script_type: &ScriptType) -> Option<Reservation> {
        self.reserve_where(script_type, |direct_start| {
            let few_undecided = direct_start.undecided.load(Ordering::SeqCst) < MAX_UNDECIDED;
            direct_start.noted_lease.is_some() && few_undecided && direct_start.trust.holds()
        })
    }

    fn reserve_where(&self, script_type: &ScriptType, may: impl Fn(&DirectStart) -> bool) -> Option<Reservation> {
        self.0.find_map(script_type, |direct_start| {
            if !may(&direct_start) {
                return None;
            }
            // The reservation is counted before the room is taken, so that a pool that closes does not miss it.
            direct_start.reserved.fetch_add(1, Ordering::SeqCst);
            let mut reservation = Reservation(Place { direct_start, actor_index: 0 });
            let Place { direct_start, actor_index } = &mut reservation.0;
            let before = direct_start.room.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |room| room.checked_sub(1)).ok()?;
            *actor_index = before % direct_start.actors.len().max(1);
            Some(reservation)
        })
    }
}

impl DirectStart {
    /// Sets how many more jobs the pool can hold. Reservations count against this number.
    pub fn set_room(&self, room: usize) {
        self.room.store(room.saturating_sub(self.reserved.load(Ordering::SeqCst)), Ordering::SeqCst);
    }

    /// Whether no reservation and no undecided run is left, so that no message arrives any more once the room is zero.
    pub fn is_closed(&self) -> bool {
        self.reserved.load(Ordering::SeqCst) == 0 && self.undecided.load(Ordering::SeqCst) == 0
    }

    /// Waits until no reservation and no undecided run is left; it may also return while there is one.
    pub async fn closed(&self) {
        self.closed.notified().await;
    }

    /// Whether a job may have started that the pool does not know of. Reading it resets it.
    pub fn take_unsure(&self) -> bool {
        self.unsure.swap(false, Ordering::SeqCst)
    }
}

impl DirectStart {
    /// Takes one from a number of things on their way to the pool.
    fn settle(&self, pending: &AtomicUsize) {
        if pending.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.closed.notify_one();
        }
    }
}

impl fmt::Debug for DirectStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DirectStart").field("actors", &self.actors).field("room", &self.room).finish_non_exhaustive()
    }
}

impl Place {
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

    /// Whether two places are of the same pool.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.direct_start, &other.direct_start)
    }

    /// Notes the lease of a job whose speculative run has become the run of a stored job.
    pub(super) fn note_lease(&self, job: &JobId, claim: u32) {
        if let Some(note) = &self.direct_start.noted_lease {
            note(job, claim);
        }
    }

    /// Sends a message to the pool. If the pool has just gone, the lease of a started job runs out.
    pub(super) fn send(&self, message: DirectJob) {
        let _ = self.direct_start.jobs.send(message);
    }

    /// Records a speculative run that begins, until [`Self::decide`].
    pub(super) fn note_undecided(&self) {
        self.direct_start.undecided.fetch_add(1, Ordering::SeqCst);
    }

    /// Records that it is decided what became of a speculative run.
    pub(super) fn decide(&self) {
        self.direct_start.settle(&self.direct_start.undecided);
    }

    /// Records that a speculative run was in vain.
    pub(super) fn distrust(&self) {
        self.direct_start.trust.lose();
    }

    /// Records that the answer got lost: the job may have started.
    pub(crate) fn lost(&self) {
        self.direct_start.unsure.store(true, Ordering::SeqCst);
    }
}

impl Reservation {
    /// The pool and the actor.
    pub(crate) fn place(&self) -> &Place {
        &self.0
    }

    /// Hands the job to the pool: it has started, or runs before it is stored.
    pub(crate) fn fill(self, job: Claimed) {
        self.0.send(DirectJob::Start(job));
    }
}

/// Whether the speculative runs of a pool are worth their time. While jobs wait in its queue, are paused or are refused, they are not.
#[derive(Debug, Default)]
struct Trust(Mutex<Option<Instant>>);

impl Trust {
    /// Whether there is trust again.
    fn holds(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_none_or(|lost| lost.elapsed() >= DISTRUST_TIME)
    }

    fn lose(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.0.direct_start.settle(&self.0.direct_start.reserved);
    }
}
