use std::time::Duration;

use crate::service::Service;
use crate::store::{Error, Store};

/// Sets the store's clock by Redis.
pub struct Timekeeper {
    store: Store,
}

impl Timekeeper {
    /// A timekeeper for one context.
    pub fn new(store: Store) -> Self {
        Self { store }
    }
}

impl Service for Timekeeper {
    type Error = Error;

    const NAME: &'static str = "timekeeper";

    async fn tick(&mut self) -> Result<Duration, Error> {
        // After a slow answer it is looked again soon.
        Ok(Duration::from_secs(if self.store.set_clock().await? { 10 } else { 1 }))
    }
}
