use std::time::Duration;

use hero_service::Service;
use hero_store::{Error, Store};

/// Reads the state of jobs whose waiters have waited for longer than a second.
///
/// So a lost message, or an actor that only writes the hash, delays a wait by a second and does not lose its result.
pub struct Sweeper {
    store: Store,
}

/// Time after which the sweeper checks the job of a waiter.
const MIN_WAITER_AGE: Duration = Duration::from_secs(1);

impl Sweeper {
    /// Creates a sweeper for one context.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl Service for Sweeper {
    type Error = Error;

    const NAME: &'static str = "answering calls that wait for jobs";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let audience = self.store.inbox().audience();
        for jobs in self.store.inbox().older_than(MIN_WAITER_AGE).chunks(128) {
            for (job, look) in self.store.jobs().look_for_ends(jobs).await? {
                self.store.inbox().deliver(&job, &look, audience);
            }
        }
        Ok(MIN_WAITER_AGE)
    }
}
