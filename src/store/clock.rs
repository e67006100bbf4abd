use std::sync::atomic::{AtomicI64, Ordering};

use crate::model::Timestamp;

/// The time of the store: this machine's clock, set by that of Redis.
#[derive(Debug, Default)]
pub struct Clock {
    /// What to add to the local clock, in milliseconds.
    offset: AtomicI64,
}

impl Clock {
    /// The time now.
    pub fn now(&self) -> Timestamp {
        Timestamp::from_millis(Timestamp::local().as_millis() + self.offset.load(Ordering::Relaxed))
    }

    /// Sets the clock by Redis, which showed `theirs` between `before` and `after`.
    pub(super) fn set(&self, before: Timestamp, theirs: Timestamp, after: Timestamp) {
        let middle = i64::midpoint(before.as_millis(), after.as_millis());
        self.offset.store(theirs.as_millis() - middle, Ordering::Relaxed);
    }

    /// Moves the clock, so that a test need not wait.
    pub fn advance(&self, by: std::time::Duration) {
        self.offset.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}
