use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use tokio::time::Instant;

use hero_model::JobId;

/// The number of waiting claims of each job. An arriving job nearly always has none, and this map tells so without a
/// scan of all waiting jobs.
#[derive(Default)]
pub(super) struct WaitingClaims(HashMap<JobId, usize>);

impl WaitingClaims {
    pub(super) fn add(&mut self, job: &JobId) {
        *self.0.entry(job.clone()).or_default() += 1;
    }

    pub(super) fn remove(&mut self, job: &JobId) {
        if let Entry::Occupied(mut claims) = self.0.entry(job.clone()) {
            *claims.get_mut() -= 1;
            if *claims.get() == 0 {
                claims.remove();
            }
        }
    }

    pub(super) fn contain(&self, job: &JobId) -> bool {
        self.0.contains_key(job)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// A stop request waits this long for a job that may be on its way here. A later job is another attempt, which nobody
/// asked to stop.
const STOP_WAITS: Duration = Duration::from_secs(2);
/// Maximum number of stop requests that are kept for jobs on their way. A pool never has room for more jobs, so no more
/// can be on their way.
const MOST_TO_STOP: usize = 1024;

/// Stop requests for jobs that were not here. The jobs may be on their way, and are stopped when they arrive.
#[derive(Default)]
pub(super) struct PendingStops {
    since: HashMap<JobId, Instant>,
    /// In the order of their arrival. Requests that were taken since then are skipped.
    order: VecDeque<(Instant, JobId)>,
}

impl PendingStops {
    pub(super) fn add(&mut self, job: &JobId, now: Instant) {
        if self.order.len() == MOST_TO_STOP {
            self.drop_oldest();
        }
        self.since.insert(job.clone(), now);
        self.order.push_back((now, job.clone()));
    }

    /// True if an arriving job must be stopped. The request is removed.
    pub(super) fn take(&mut self, job: &JobId, now: Instant) -> bool {
        while self.order.front().is_some_and(|(since, _)| now.duration_since(*since) > STOP_WAITS) {
            self.drop_oldest();
        }
        self.since.remove(job).is_some()
    }

    pub(super) fn clear(&mut self) {
        self.since.clear();
        self.order.clear();
    }

    fn drop_oldest(&mut self) {
        if let Some((since, job)) = self.order.pop_front()
            && self.since.get(&job) == Some(&since)
        {
            self.since.remove(&job);
        }
    }
}
