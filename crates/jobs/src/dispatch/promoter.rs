use std::time::{Duration, Instant};

use hero_service::Service;
use hero_store::{Error, Store};

/// Moves due jobs to their queues.
pub struct Promoter {
    store: Store,
    /// The start of the last round. The start counts, because Redis may have stalled during the round.
    looked: Option<Instant>,
}

/// Maximum number of jobs that one call promotes.
const JOBS_PER_CALL: usize = 128;
/// Maximum delay of a due job.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum delay of a due job if nothing was scheduled before.
const IDLE_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// A longer time between two rounds means that something stalled.
const STALL_AFTER: Duration = Duration::from_secs(1);

impl Promoter {
    /// Creates a promoter for one context.
    pub fn new(store: Store) -> Self {
        Self { store, looked: None }
    }
}

impl Service for Promoter {
    type Error = Error;

    const NAME: &'static str = "queueing jobs that are due";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let before = self.looked.replace(Instant::now());
        let promoted = self.store.jobs().promote_after(JOBS_PER_CALL, before.is_none_or(|before| before.elapsed() >= STALL_AFTER)).await?;
        Ok(match promoted.next_due {
            _ if promoted.handled >= JOBS_PER_CALL => Duration::ZERO,
            // An earlier job may be added meanwhile, so the pause is short even if the next one is far away.
            Some(due) => due.since(self.store.clock().now()).clamp(Duration::from_millis(1), POLL_INTERVAL),
            None => IDLE_POLL_INTERVAL,
        })
    }
}
