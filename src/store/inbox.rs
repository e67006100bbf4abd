use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tokio::sync::{broadcast, oneshot};

use super::codec::Look;
use crate::model::JobId;

/// Replies for everybody who waits in this server, and stop requests for what it runs.
///
/// One map and one subscription for all; a hint that gets lost is made good by [`Inbox::older_than`].
#[derive(Debug)]
pub struct Inbox {
    waiting: Mutex<HashMap<JobId, Waiting>>,
    stops: broadcast::Sender<JobId>,
}

#[derive(Debug)]
struct Waiting {
    since: Instant,
    /// However many wait, the result is there once.
    callers: Vec<(u64, oneshot::Sender<Arc<Look>>)>,
}

/// Somebody who waits for a job. Dropping it ends the wait.
#[derive(Debug)]
pub struct Waiter {
    inbox: Arc<Inbox>,
    job: JobId,
    number: u64,
    reply: oneshot::Receiver<Arc<Look>>,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { waiting: Mutex::default(), stops: broadcast::Sender::new(1024) }
    }
}

impl Inbox {
    /// Waits for a job. Register before enqueueing it, so that no reply comes too early.
    pub fn register(self: &Arc<Self>, job: &JobId) -> Waiter {
        let (caller, reply) = oneshot::channel();
        let number = rand::random();
        let mut waiting = self.locked();
        waiting.entry(job.clone()).or_insert_with(|| Waiting { since: Instant::now(), callers: Vec::new() }).callers.push((number, caller));
        Waiter { inbox: self.clone(), job: job.clone(), number, reply }
    }

    /// Whether somebody waits for a job.
    pub fn awaits(&self, job: &JobId) -> bool {
        self.locked().contains_key(job)
    }

    /// Tells everybody who waits for a job how it ended.
    pub fn deliver(&self, job: &JobId, look: &Look) {
        let Some(waiting) = self.locked().remove(job) else { return };
        let look = Arc::new(look.clone());
        for (_, caller) in waiting.callers {
            // A caller that has just gone needs no answer.
            let _ = caller.send(Arc::clone(&look));
        }
    }

    /// The jobs somebody has waited for longer than `age`.
    pub fn older_than(&self, age: Duration) -> Vec<JobId> {
        self.locked().iter().filter(|(_, waiting)| waiting.since.elapsed() >= age).map(|(job, _)| job.clone()).collect()
    }

    /// Stop requests for jobs that this server runs; a hint, like everything here.
    pub fn stops(&self) -> broadcast::Receiver<JobId> {
        self.stops.subscribe()
    }

    /// Passes a stop request on to the pools.
    pub fn stop(&self, job: JobId) {
        // Without a pool nobody listens, and nothing runs.
        let _ = self.stops.send(job);
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<JobId, Waiting>> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Waiter {
    /// How the job ended: [`Look::Settled`], or [`Look::Missing`] if it was deleted.
    pub async fn reply(&mut self) -> Look {
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
            of_job.callers.retain(|(number, _)| *number != self.number);
            if of_job.callers.is_empty() {
                waiting.remove(&self.job);
            }
        }
    }
}
