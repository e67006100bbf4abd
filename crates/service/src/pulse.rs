//! The times at which the loops of this process poll together.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The time between two pulses, an even part of a second.
pub const PULSE: Duration = Duration::from_millis(200);

/// The first pulse. Processes start at different times, so those that share a Redis do not all ask at once.
static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Shortens a pause so that it ends at a pulse of this process, unless it is so short that little would be left.
///
/// Most of what a process costs at rest is waking up, not what it then asks. Loops that pause until a pulse wake this
/// process together, and Redis reads what they ask together.
pub fn until_pulse(pause: Duration) -> Duration {
    shortened(pause, FIRST.elapsed())
}

/// Returns the pause until the last pulse in this time; `now` is the time since the first one.
fn shortened(pause: Duration, now: Duration) -> Duration {
    let beyond = (now + pause).subsec_nanos() % PULSE.subsec_nanos();
    if pause < 2 * PULSE { pause } else { pause - Duration::from_nanos(beyond.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_end_at_a_pulse_and_none_becomes_longer_or_much_shorter() {
        let millis = Duration::from_millis;
        for (pause, now, until) in [
            (1000, 0, 1000),
            (1000, 3, 997),
            (1000, 199, 801),
            (1000, 7801, 999),
            (400, 201, 399),
            (400, 399, 201),
            (399, 50, 399),
            (0, 7, 0),
        ] {
            assert_eq!(shortened(millis(pause), millis(now)), millis(until), "{pause} ms at {now} ms");
        }
    }
}
