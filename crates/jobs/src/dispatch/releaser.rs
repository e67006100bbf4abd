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
const POLL_INTERVAL: Duration = Duration::from_millis(500);

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
        if !self.store.jobs().release_relatives(RELATIVES_PER_CALL).await? {
            self.store.jobs().ended_with_relatives(POLL_INTERVAL).await;
        }
        Ok(Duration::ZERO)
    }
}
