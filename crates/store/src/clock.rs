//! Redis' clock as this process follows it.

pub(crate) mod step;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

use hero_model::Timestamp;

/// The time of the store: the time of Redis, as far as this process knows it.
///
/// Between two readings of Redis' clock it follows the time that has passed in this process, so steps of the machine's clock do not affect
/// it. It does not decide whether a deadline has passed: functions ask Redis itself.
#[derive(Debug, Default)]
pub struct Clock {
    /// The offset from the time since the process began, in milliseconds.
    offset: AtomicI64,
    /// Whether a reading of Redis has set it.
    set: AtomicBool,
    /// Whether the clock is stopped; `offset` is then the time it shows.
    stands: AtomicBool,
    /// Whether functions use its time, too.
    counts: AtomicBool,
    /// The latest time that Redis has shown, or would have shown if its clock had not been set back, in milliseconds.
    latest: AtomicI64,
    /// The step that was recorded last. No other is recorded before Redis has shown that latest time again.
    noted: AtomicI64,
}

/// A reading of Redis' clock that took longer is too inexact.
const MAX_READING_TIME: Duration = Duration::from_millis(100);

/// Milliseconds since the first use of any clock in this process.
fn passed() -> i64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    i64::try_from(BEGAN.get_or_init(Instant::now).elapsed().as_millis()).unwrap_or(i64::MAX)
}

impl Clock {
    /// Returns the current time.
    pub fn now(&self) -> Timestamp {
        let passed = if self.stands.load(Ordering::Relaxed) { 0 } else { passed() };
        Timestamp::from_millis(passed + self.offset.load(Ordering::Relaxed))
    }

    /// Returns a time as an argument for functions. They take their own time from Redis, unless a test controls the clock.
    pub(super) fn argument(&self, now: Timestamp) -> String {
        let sign = if self.counts.load(Ordering::Relaxed) { "=" } else { "" };
        format!("{sign}{}", now.as_millis())
    }

    /// Sets the clock by Redis' answer `theirs`, which took `took` to arrive. Returns false and leaves the clock as it is if the answer was
    /// slow and does not contradict the clock.
    pub(super) fn set(&self, theirs: Timestamp, took: Duration) -> bool {
        // When the answer arrived, Redis' clock was between `theirs` and `theirs + took`.
        let (now, may_be) = (self.now(), theirs..=theirs.plus(took));
        if took > MAX_READING_TIME && self.set.load(Ordering::Relaxed) && may_be.contains(&now) {
            return false;
        }
        if !self.counts.load(Ordering::Relaxed) {
            self.has_shown(if self.set.load(Ordering::Relaxed) { theirs.max(now) } else { theirs });
            let now = theirs.plus(took / 2).as_millis();
            self.offset.store(now - passed(), Ordering::Relaxed);
            self.set.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Records a time that Redis has shown.
    pub(super) fn has_shown(&self, time: Timestamp) {
        self.latest.fetch_max(time.as_millis(), Ordering::Relaxed);
    }

    /// Returns how far Redis' clock is or was behind the latest time that it has shown, in milliseconds; nothing once it shows that time
    /// again. Until then, any hour may come twice, even if the clock is set back again by little.
    pub(super) fn step_back(&self) -> Option<i64> {
        let back = self.latest.load(Ordering::Relaxed) - self.now().as_millis();
        if back <= 0 {
            self.noted.store(0, Ordering::Relaxed);
        }
        let known = self.noted.load(Ordering::Relaxed);
        let is_theirs = self.set.load(Ordering::Relaxed) && !self.counts.load(Ordering::Relaxed);
        (is_theirs && back > 0).then_some(back.max(known))
    }

    /// Records that all listers of jobs know of a backward step. Returns false if they knew already.
    pub(super) fn has_noted(&self, back: i64) -> bool {
        self.noted.fetch_max(back, Ordering::Relaxed) < back
    }

    /// Makes the clock show a wrong time until it is set again, as after a sleep of the machine.
    pub fn err_by(&self, millis: i64) {
        self.offset.fetch_add(millis, Ordering::Relaxed);
    }

    /// Stops the clock at a time, so that a test controls the time, in functions, too. From then on only [`Clock::advance`] moves it.
    pub fn stop_at(&self, time: Timestamp) {
        self.counts.store(true, Ordering::Relaxed);
        self.stands.store(true, Ordering::Relaxed);
        self.offset.store(time.as_millis(), Ordering::Relaxed);
    }

    /// Moves the clock, so that a test need not wait. From then on functions use its time, too.
    pub fn advance(&self, by: Duration) {
        self.counts.store(true, Ordering::Relaxed);
        self.offset.fetch_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_look_at_redis_sets_the_clock_only_if_it_cannot_be_right() {
        let (clock, then, slow) = (Clock::default(), Timestamp::from_millis(1_763_000_000_000), Duration::from_secs(20));
        assert!(clock.set(then, slow), "the first look counts, however slow");
        let shown = clock.now();
        assert!(!clock.set(then, slow), "it may be as late there as it is here");
        assert!(clock.now().since(shown) < Duration::from_secs(5));
        assert!(clock.set(then.plus(Duration::from_secs(3600)), slow));
        assert!(clock.now().since(shown) > Duration::from_secs(3500));
        assert!(clock.set(then, Duration::from_millis(1)));
        assert!(clock.now() < then.plus(Duration::from_secs(60)));
    }

    #[test]
    fn a_step_is_told_until_the_clock_shows_that_time_again_and_as_the_largest() {
        let (clock, then, quick) = (Clock::default(), Timestamp::from_millis(1_763_000_000_000), Duration::from_millis(1));
        let back = |seconds| then.minus(Duration::from_secs(seconds));
        let minutes = |clock: &Clock| clock.step_back().map(|back| (back + 5000) / 60_000);
        assert_eq!(minutes(&clock), None);
        clock.set(then, quick);
        assert!(clock.step_back().is_none_or(|back| back < 5000));
        clock.set(back(600), quick);
        assert_eq!((minutes(&clock), minutes(&clock)), (Some(10), Some(10)));
        assert!(clock.has_noted(clock.step_back().unwrap()));
        clock.set(back(300), quick);
        assert_eq!(minutes(&clock), Some(10));
        assert!(!clock.has_noted(clock.step_back().unwrap()));
        // Two steps together count as one.
        clock.set(back(1200), quick);
        assert_eq!(minutes(&clock), Some(20));
        clock.has_noted(clock.step_back().unwrap());
        clock.set(then.plus(Duration::from_secs(60)), quick);
        clock.step_back();
        clock.set(back(60), quick);
        assert_eq!(minutes(&clock), Some(2));
    }
}
