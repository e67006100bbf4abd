use std::time::Duration;

/// The wait of a failed job for its next attempt: it doubles from `first` to `longest`, and varies by up to a quarter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Backoff {
    /// The wait after the first failure.
    pub first: Duration,
    /// The longest wait.
    pub longest: Duration,
}

impl Backoff {
    /// The wait after the first failure of a job that names none. `lua/foreign.lua` repeats this value.
    pub const DEFAULT_FIRST_WAIT: Duration = Duration::from_secs(1);
    /// The longest wait of a job, unless its first wait is longer.
    pub const MAX_WAIT: Duration = Duration::from_secs(300);

    /// From so many doublings on, all waits are equally long.
    const MOST_DOUBLINGS: u32 = 20;

    /// Creates a backoff that starts with `first`.
    pub fn starting_with(first: Duration) -> Self {
        Self { first, longest: Self::MAX_WAIT.max(first) }
    }

    /// Returns the wait after attempt number `attempt` (the first is 1); `chance` is a random number from 0 to 1.
    pub fn wait(&self, attempt: u32, chance: f64) -> Duration {
        let doubled = self.first.saturating_mul(1 << attempt.saturating_sub(1).min(Self::MOST_DOUBLINGS));
        doubled.min(self.longest).mul_f64(0.75 + 0.5 * chance.clamp(0.0, 1.0))
    }

    /// Returns the longest time that the waits after the first `attempts` attempts can take together.
    pub fn longest_total(&self, attempts: u32) -> Duration {
        let doubling = attempts.min(Self::MOST_DOUBLINGS);
        let doubled = (1..=doubling).fold(Duration::ZERO, |total, attempt| total.saturating_add(self.wait(attempt, 1.0)));
        doubled.saturating_add(self.wait(attempts, 1.0).saturating_mul(attempts - doubling))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let backoff = Backoff::starting_with(Duration::from_secs(1));
        let waits: Vec<u64> = (1..=12).map(|attempt| backoff.wait(attempt, 0.5).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        assert_eq!(backoff.wait(3, 0.0), Duration::from_secs(3));
        assert_eq!(backoff.wait(u32::MAX, 1.0), Duration::from_secs(375));
    }

    #[test]
    fn the_longest_total_is_the_sum_of_all_waits_at_their_longest() {
        for first in [0.0, 0.0001, 1.0, 299.0, 3600.0] {
            let backoff = Backoff::starting_with(Duration::from_secs_f64(first));
            for attempts in [0, 1, 2, 9, 20, 21, 22, 50] {
                let sum: Duration = (1..=attempts).map(|attempt| backoff.wait(attempt, 1.0)).sum();
                assert_eq!(backoff.longest_total(attempts), sum, "{first} {attempts}");
            }
        }
        assert_eq!(Backoff::starting_with(Duration::MAX / 2).longest_total(u32::MAX), Duration::MAX);
    }
}
