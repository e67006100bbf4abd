use std::time::Duration;

use crate::service::Service;
use crate::store::{Error, Store};

/// Puts jobs into their queues when their time has come.
pub struct Promoter {
    store: Store,
}

/// So many jobs are promoted by one script call.
const BATCH: usize = 128;
/// Due times are met to within this,
const PAUSE: Duration = Duration::from_millis(100);
/// and to within this when nothing was scheduled before.
const IDLE: Duration = Duration::from_millis(200);

impl Promoter {
    /// A promoter for one context.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl Service for Promoter {
    type Error = Error;

    const NAME: &'static str = "promoter";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let promoted = self.store.promote(BATCH).await?;
        Ok(match promoted.next_due {
            _ if promoted.handled >= BATCH => Duration::ZERO,
            // A nearer time may be added meanwhile, so far ones are looked at again soon.
            Some(due) => due.since(self.store.clock().now()).clamp(Duration::from_millis(1), PAUSE),
            None => IDLE,
        })
    }
}
