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
    pub const DEFAULT: Duration = Duration::from_secs(1);
    /// The longest wait of a job, unless its first wait is longer.
    pub const LONGEST: Duration = Duration::from_secs(300);

    /// Creates a backoff that starts with `first`.
    pub fn starting_with(first: Duration) -> Self {
        Self { first, longest: Self::LONGEST.max(first) }
    }

    /// Returns the wait after attempt number `attempt` (the first is 1); `chance` is a random number from 0 to 1.
    pub fn wait(&self, attempt: u32, chance: f64) -> Duration {
        let doubled = self.first.saturating_mul(1 << attempt.saturating_sub(1).min(20));
        doubled.min(self.longest).mul_f64(0.75 + 0.5 * chance.clamp(0.0, 1.0))
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
}
