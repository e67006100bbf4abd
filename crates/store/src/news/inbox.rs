use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, oneshot};

use crate::jobs::codec::JobView;
use hero_model::JobId;

/// Replies for all waiters of this server, and stop requests for its running jobs.
///
/// All waiters share one map and one subscription. [`Inbox::older_than`] makes up for lost hints.
#[derive(Debug)]
pub struct Inbox {
    waiting: Mutex<HashMap<JobId, Waiting>>,
    /// The number of registrations so far.
    registered: AtomicU64,
    stops: broadcast::Sender<JobId>,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The callers, the longest waiting first.
    callers: Vec<WaitingCall>,
}

#[derive(Debug)]
struct WaitingCall {
    number: u64,
    since: Instant,
    /// All callers share one copy of the result.
    reply: oneshot::Sender<Arc<JobView>>,
}

/// The waiters that registered before a moment. A job's state that is read after that moment is new for them. For waiters that register
/// later it may be outdated, because the job may have run again before they registered.
#[derive(Debug, Clone, Copy)]
pub struct Audience(u64);

/// A wait for a job. Dropping it ends the wait.
#[derive(Debug)]
pub struct Waiter {
    inbox: Arc<Inbox>,
    job: JobId,
    number: u64,
    reply: oneshot::Receiver<Arc<JobView>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { waiting: Mutex::default(), registered: AtomicU64::new(0), stops: broadcast::Sender::new(1024) }
    }
}

impl Inbox {
    /// Waits for a job. Register before the job is queued, so that the reply cannot come too early.
    pub fn register(self: &Arc<Self>, job: &JobId) -> Waiter {
        let (caller, reply) = oneshot::channel();
        let mut waiting = self.locked();
        let number = self.registered.fetch_add(1, Ordering::SeqCst) + 1;
        waiting.entry(job.clone()).or_default().callers.push(WaitingCall { number, since: Instant::now(), reply: caller });
        drop(waiting);
        Waiter { inbox: self.clone(), job: job.clone(), number, reply }
    }

    /// Whether a waiter waits for a job.
    pub fn awaits(&self, job: &JobId) -> bool {
        self.locked().contains_key(job)
    }

    /// Returns the waiters that have registered by now. Take it before reading how jobs ended.
    pub fn audience(&self) -> Audience {
        Audience(self.registered.load(Ordering::SeqCst))
    }

    /// Reports the end of a job to the waiters of an audience. Returns true if later waiters remain.
    pub fn deliver(&self, job: &JobId, look: &JobView, to: Audience) -> bool {
        let mut waiting = self.locked();
        let Some(of_job) = waiting.get_mut(job) else { return false };
        let later = of_job.callers.partition_point(|caller| caller.number <= to.0);
        let look = Arc::new(look.clone());
        for caller in of_job.callers.drain(..later) {
            // A caller that has just gone needs no answer.
            let _ = caller.reply.send(Arc::clone(&look));
        }
        if of_job.callers.is_empty() {
            waiting.remove(job);
            return false;
        }
        true
    }

    /// Returns the jobs that a waiter has awaited for longer than `age`.
    pub fn older_than(&self, age: Duration) -> Vec<JobId> {
        let is_old = |waiting: &Waiting| waiting.callers.first().is_some_and(|caller| caller.since.elapsed() >= age);
        self.locked().iter().filter(|(_, waiting)| is_old(waiting)).map(|(job, _)| job.clone()).collect()
    }

    /// Returns stop requests for jobs of this server. They are hints, like everything here.
    pub fn stops(&self) -> broadcast::Receiver<JobId> {
        self.stops.subscribe()
    }

    /// Passes a stop request on to the pools.
    pub fn stop(&self, job: JobId) {
        // Without a pool there is no listener, and no job runs.
        let _ = self.stops.send(job);
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<JobId, Waiting>> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Waiter {
    /// Waits for the end of the job: [`JobView::Ended`], or [`JobView::Missing`] if it was deleted.
    pub async fn reply(&mut self) -> JobView {
        match (&mut self.reply).await {
            Ok(look) => Arc::unwrap_or_clone(look),
            // The sender is only dropped together with this waiter.
            Err(_) => std::future::pending().await,
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut waiting = self.inbox.locked();
        if let Some(of_job) = waiting.get_mut(&self.job) {
            of_job.callers.retain(|caller| caller.number != self.number);
            if of_job.callers.is_empty() {
                waiting.remove(&self.job);
            }
        }
    }
}
