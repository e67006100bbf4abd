use std::time::{Duration, Instant};

use super::Error;
use crate::views::Health;
use hero_service::PULSE;

/// Decides when the next walk through all keys is due, from the number of keys.
///
/// Everything that another program adds is one more key, so a walk is due soon after the number has grown. The number may stay the same by
/// chance, if another key goes at the same time. So walks are also due without growth, but at growing intervals.
#[derive(Debug)]
pub struct Pace {
    /// The pause after a walk during which keys were added.
    least: Duration,
    /// The pause after a walk during which none were added.
    pause: Duration,
    ended: Option<Instant>,
    /// The lowest number of keys since the last walk began.
    fewest: u64,
    has_grown: bool,
    /// The longest pause, unless the last walk took so long that its own pause is longer.
    longest: Duration,
}

/// The longest pause of a walk that finds the keys of other programs.
const MAX_WALK_PAUSE: Duration = Duration::from_secs(60);

impl Pace {
    /// Returns a pace whose first walk is due at once.
    pub fn new() -> Self {
        Self::up_to(MAX_WALK_PAUSE)
    }

    /// Like [`Self::new`], but with this longest pause.
    pub fn up_to(longest: Duration) -> Self {
        Self { least: Duration::ZERO, pause: Duration::ZERO, ended: None, fewest: 0, has_grown: true, longest }
    }

    /// Whether a walk is due with this number of keys. Loops ask at a pulse, which may be a bit before the end of a pause.
    pub fn is_due(&mut self, keys: u64, now: Instant) -> bool {
        self.has_grown |= keys > self.fewest;
        self.fewest = self.fewest.min(keys);
        let pause = if self.has_grown { self.least } else { self.pause };
        self.ended.is_none_or(|ended| now.duration_since(ended) + PULSE >= pause)
    }

    /// Records that a walk begins.
    pub fn begin(&mut self, keys: u64) {
        if std::mem::take(&mut self.has_grown) {
            self.pause = Duration::ZERO;
        }
        self.fewest = keys;
    }

    /// Records that it has ended. The next one begins after this pause at the earliest.
    pub fn end(&mut self, least: Duration, now: Instant) {
        self.least = least;
        self.pause = (self.pause * 2).min(self.longest).max(least);
        self.ended = Some(now);
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self::new()
    }
}

impl Health<'_> {
    /// Returns the number of keys in the database of this context.
    pub async fn number_of_keys(self) -> Result<u64, Error> {
        self.0.commands.call(&redis::cmd("DBSIZE")).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns the seconds until the next walk is due, with these numbers of keys in successive seconds. The last number stays.
    fn due_after(pace: &mut Pace, keys: &[u64], began: Instant) -> u32 {
        (0..).find(|second| pace.is_due(*keys.get(*second as usize).unwrap_or(keys.last().unwrap()), began + SECOND * *second)).unwrap()
    }

    #[test]
    fn walks_are_due_later_and_later_where_no_keys_come_and_soon_where_some_do() {
        let (mut pace, now) = (Pace::new(), Instant::now());
        assert!(pace.is_due(9, now));
        for (keys, after) in [
            (&[9][..], 2),
            (&[9], 4),
            (&[9], 8),
            (&[9], 16),
            (&[9], 32),
            (&[9, 8, 7, 7], 60),
            (&[7], 60),
            (&[7, 7, 8], 2),
            (&[8], 2),
            (&[8], 4),
            (&[8, 6, 6, 6, 6, 7], 5),
        ] {
            pace.begin(keys[0]);
            pace.end(2 * SECOND, now);
            assert_eq!(due_after(&mut pace, keys, now), after, "{keys:?}");
        }
    }

    #[test]
    fn what_comes_while_a_walk_is_under_way_has_the_next_begin_soon() {
        let (mut pace, now) = (Pace::new(), Instant::now());
        for (keys, after) in [(9, 2), (9, 4), (9, 8)] {
            pace.begin(9);
            pace.end(2 * SECOND, now);
            assert_eq!(due_after(&mut pace, &[keys], now), after);
        }
        pace.begin(9);
        pace.end(2 * SECOND, now);
        assert_eq!(due_after(&mut pace, &[10], now), 2);
    }

    #[test]
    fn a_walk_that_takes_long_has_its_own_pause() {
        let (mut pace, now) = (Pace::new(), Instant::now());
        pace.begin(9);
        pace.end(90 * SECOND, now);
        assert_eq!(due_after(&mut pace, &[9, 10], now), 90);
    }
}
