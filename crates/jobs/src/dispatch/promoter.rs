use std::time::{Duration, Instant};

use hero_service::Service;
use hero_store::{Error, Store};

/// Puts jobs into their queues when their time has come.
pub struct Promoter {
    store: Store,
    /// When it was looked last. A round counts from when it was begun: Redis may have stood still.
    looked: Option<Instant>,
}

/// How many jobs are promoted by one call.
const BATCH: usize = 128;
/// How late a due job may be.
const PAUSE: Duration = Duration::from_millis(100);
/// How late a due job may be when nothing was scheduled before.
const IDLE: Duration = Duration::from_millis(200);

/// Rounds that are further apart than this mean that something stood still.
const A_WHILE: Duration = Duration::from_secs(1);

impl Promoter {
    /// A promoter for one context.
    pub fn new(store: Store) -> Self {
        Self { store, looked: None }
    }
}

impl Service for Promoter {
    type Error = Error;

    const NAME: &'static str = "starting jobs whose time has come";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let before = self.looked.replace(Instant::now());
        let promoted = self.store.jobs().promote_after(BATCH, before.is_none_or(|before| before.elapsed() >= A_WHILE)).await?;
        Ok(match promoted.next_due {
            _ if promoted.handled >= BATCH => Duration::ZERO,
            // A nearer time may be added meanwhile, so far ones are looked at again soon.
            Some(due) => due.since(self.store.clock().now()).clamp(Duration::from_millis(1), PAUSE),
            None => IDLE,
        })
    }
}
