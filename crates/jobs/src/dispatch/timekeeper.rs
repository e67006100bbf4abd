use std::time::Duration;

use hero_service::Service;
use hero_store::{Error, Store};

/// Sets the store's clock by Redis. So it detects that the clock of Redis was set back, even while no server ran.
pub struct Timekeeper {
    store: Store,
    looked_back: bool,
}

impl Timekeeper {
    /// Creates a timekeeper for one context.
    pub fn new(store: Store) -> Self {
        Self { store, looked_back: false }
    }
}

impl Service for Timekeeper {
    type Error = Error;

    const NAME: &'static str = "reading the clock of Redis";

    async fn tick(&mut self) -> Result<Duration, Error> {
        let mut set = self.store.maintenance().set_clock().await?;
        if !self.looked_back {
            self.store.maintenance().look_back().await?;
            set = self.store.maintenance().set_clock().await?;
            self.looked_back = true;
        }
        // After a slow answer the clock is read again soon.
        Ok(Duration::from_secs(if set { 10 } else { 1 }))
    }
}
