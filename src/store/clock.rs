use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use crate::model::Timestamp;

/// The time of the store: this machine's clock, set by that of Redis.
#[derive(Debug, Default)]
pub struct Clock {
    /// What to add to the local clock, in milliseconds.
    offset: AtomicI64,
    /// Whether the clock stands; `offset` is the time it shows then.
    stands: AtomicBool,
}

impl Clock {
    /// The time now.
    pub fn now(&self) -> Timestamp {
        let local = if self.stands.load(Ordering::Relaxed) { 0 } else { Timestamp::local().as_millis() };
        Timestamp::from_millis(local + self.offset.load(Ordering::Relaxed))
    }

    /// Sets the clock by Redis, which showed `theirs` between `before` and `after`.
    pub(super) fn set(&self, before: Timestamp, theirs: Timestamp, after: Timestamp) {
        let middle = i64::midpoint(before.as_millis(), after.as_millis());
        if !self.stands.load(Ordering::Relaxed) {
            self.offset.store(theirs.as_millis() - middle, Ordering::Relaxed);
        }
    }

    /// Stops the clock at a time, so that the time of a test is its own. From then on only [`Clock::advance`] moves it.
    pub fn stop_at(&self, time: Timestamp) {
        self.stands.store(true, Ordering::Relaxed);
        self.offset.store(time.as_millis(), Ordering::Relaxed);
    }

    /// Moves the clock, so that a test need not wait.
    pub fn advance(&self, by: std::time::Duration) {
        self.offset.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}
