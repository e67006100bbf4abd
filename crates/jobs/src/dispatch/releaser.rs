use std::time::Duration;

use hero_service::Service;
use hero_store::{Error, Store};

/// Releases the relatives of jobs that have ended: dependents, children, continuations, parents.
pub struct Releaser {
    store: Store,
}

/// Maximum number of relatives that one call releases. Such a call blocks Redis for one to two milliseconds.
const RELATIVES_PER_CALL: usize = 48;
/// Maximum delay for jobs that ended in another process, or whose process died. Jobs that end in this process are
/// released at once.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl Releaser {
    /// Creates a releaser for one context.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl Service for Releaser {
    type Error = Error;

    const NAME: &'static str = "releasing jobs whose prerequisites have ended";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let has_more = self.store.jobs().release_relatives(RELATIVES_PER_CALL).await?;
        Ok(if has_more { Duration::ZERO } else { POLL_INTERVAL })
    }

    async fn due_early(&mut self) {
        self.store.jobs().ended_with_relatives().await;
    }
}
