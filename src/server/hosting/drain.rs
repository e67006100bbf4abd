use std::time::Duration;

use super::{Hosting, Pools};

/// Interval at which a drain checks whether pools that were starting have started.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

impl Hosting {
    /// Makes every pool stop taking jobs, and starts no more pools. Running jobs continue, however long they take.
    /// Returns the number of running jobs.
    pub(crate) fn drain(&self) -> usize {
        self.0.draining.cancel();
        self.pools_if(|_| true).iter().for_each(|entry| entry.pool.leave());
        self.jobs()
    }

    /// Waits until all pools have left.
    pub(crate) async fn left(&self) {
        while self.hosted().values().any(|hosted| matches!(hosted.pools, Pools::Starting)) {
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        for entry in self.pools_if(|_| true) {
            entry.pool.leave();
            entry.pool.ended().await;
        }
        self.0.runner_loops.close();
        self.0.runner_loops.wait().await;
    }

    /// Whether a drain has begun.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.draining.is_cancelled()
    }
}
