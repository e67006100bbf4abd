use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::model::{JobId, ScriptType};
use crate::service::Service;
use crate::store::{CompatQueues, Error, Post, Store};

/// The attempts that a pool holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Holdings(Arc<Mutex<HashMap<JobId, u32>>>);

impl Holdings {
    fn locked(&self) -> MutexGuard<'_, HashMap<JobId, u32>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn add(&self, job: &JobId, attempt: u32) {
        self.locked().insert(job.clone(), attempt);
    }

    /// Forgets an attempt; a later one of the same job stays.
    pub(super) fn remove(&self, job: &JobId, attempt: u32) {
        let mut holdings = self.locked();
        if holdings.get(job) == Some(&attempt) {
            holdings.remove(job);
        }
    }

    pub(super) fn contains(&self, job: &JobId) -> bool {
        self.locked().contains_key(job)
    }

    pub(super) fn attempt(&self, job: &JobId) -> Option<u32> {
        self.locked().get(job).copied()
    }

    pub(super) fn len(&self) -> usize {
        self.locked().len()
    }

    fn all(&self) -> Vec<(JobId, u32)> {
        self.locked().iter().map(|(job, attempt)| (job.clone(), *attempt)).collect()
    }
}

/// Renews the leases of what a pool holds. A job that was lost meanwhile is stopped: its result would be refused.
pub(super) struct Renewer {
    pub(super) store: Store,
    pub(super) holdings: Holdings,
}

impl Service for Renewer {
    type Error = Error;

    const NAME: &'static str = "renewer";

    async fn tick(&mut self) -> Result<Duration, Error> {
        for (lost, attempt) in self.store.renew(&self.holdings.all()).await? {
            // It may have ended meanwhile, as it should.
            if self.holdings.attempt(&lost) == Some(attempt) {
                tracing::warn!(job = %lost, "the lease of a running job was lost, its result will be refused");
                self.store.inbox().stop(lost);
            }
        }
        Ok(self.store.periods().lease / 3)
    }
}

/// Looks for stop requests that outsiders pushed.
pub(super) struct Controller {
    store: Store,
    holdings: Holdings,
    queues: Vec<String>,
}

impl Controller {
    pub(super) fn new(store: Store, holdings: Holdings, script_type: &ScriptType, posts: &[Post], compat: &CompatQueues) -> Self {
        let keys = store.keys();
        let of_instances = posts.iter().map(|post| keys.control_instance(&post.script_type, &post.group, post.instance));
        let queues = std::iter::once(keys.control(script_type)).chain(of_instances).chain(compat.stops().iter().cloned()).collect();
        Self { store, holdings, queues }
    }
}

impl Service for Controller {
    type Error = Error;

    const NAME: &'static str = "controller";

    async fn tick(&mut self) -> Result<Duration, Error> {
        for job in self.store.control(&self.queues).await? {
            self.store.inbox().stop(job);
        }
        // A running script is to end soon after any client asks; a queued one can wait until somebody looks.
        Ok(Duration::from_millis(if self.holdings.len() > 0 { 25 } else { 1000 }))
    }
}
