use std::time::{Duration, Instant};

use hero_service::Service;
use hero_store::{DueKind, Error, Store};

/// Moves due jobs to their queues.
pub struct Promoter {
    store: Store,
    /// The end of the last pause, or the start of a round that failed. The pause counts from the start of its round,
    /// because Redis may have stalled during the round.
    planned: Option<Instant>,
}

/// Maximum number of jobs that one call promotes.
const JOBS_PER_CALL: usize = 128;
/// A round that is later than this means that something stalled.
const STALL_AFTER: Duration = Duration::from_secs(1);

impl Promoter {
    /// Creates a promoter for one context.
    pub fn new(store: Store) -> Self {
        Self { store, planned: None }
    }
}

impl Service for Promoter {
    type Error = Error;

    const NAME: &'static str = "queueing jobs that are due";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let now = Instant::now();
        let planned = self.planned.replace(now);
        let promoted =
            self.store.jobs().promote_after(JOBS_PER_CALL, planned.is_none_or(|planned| planned.elapsed() >= STALL_AFTER)).await?;
        let is_full = promoted.handled >= JOBS_PER_CALL;
        let pause = if is_full { Duration::ZERO } else { self.store.pause_until(promoted.next_due) };
        self.planned = Some(now + pause);
        Ok(pause)
    }

    async fn due_early(&mut self) {
        self.store.comes_due(DueKind::Jobs).await;
    }
}
