use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::mpsc;

use hero_model::JobId;
use hero_service::Service;
use hero_store::{Error, Store};

/// The leases that a pool holds, each by its job and claim. A job may have two entries while a script runs whose lease
/// was lost.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldLeases(Arc<Mutex<HashSet<(JobId, u32)>>>);

impl HeldLeases {
    fn locked(&self) -> MutexGuard<'_, HashSet<(JobId, u32)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn add(&self, job: &JobId, claim: u32) {
        self.locked().insert((job.clone(), claim));
    }

    /// Removes a claim. Other claims of the same job stay.
    pub(super) fn remove(&self, job: &JobId, claim: u32) {
        self.locked().remove(&(job.clone(), claim));
    }

    pub(super) fn contains(&self, held: &(JobId, u32)) -> bool {
        self.locked().contains(held)
    }

    pub(super) fn len(&self) -> usize {
        self.locked().len()
    }

    fn all(&self) -> Vec<(JobId, u32)> {
        self.locked().iter().cloned().collect()
    }
}

/// Renews the leases that a pool holds, and tells the fetcher which of them were lost.
pub(super) struct Renewer {
    pub(super) store: Store,
    pub(super) leases: HeldLeases,
    /// The sender for lost leases. Those that do not fit into the channel are sent in the next round.
    pub(super) lost: mpsc::Sender<(JobId, u32)>,
}

impl Service for Renewer {
    type Error = Error;

    const NAME: &'static str = "renewing the leases of running jobs";

    async fn tick(&mut self) -> Result<Duration, Error> {
        for lost in self.store.queues().renew(&self.leases.all()).await? {
            // If the pool has recorded the end of the job meanwhile, the lease is gone as it should be.
            if self.leases.contains(&lost) && self.lost.try_send(lost).is_err() {
                break;
            }
        }
        Ok(self.store.periods().lease / 3)
    }
}
