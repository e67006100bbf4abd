use std::sync::atomic::{AtomicU8, Ordering};

/// How short the memory of a Redis is.
#[derive(Debug, Default)]
pub(super) struct Pressure(AtomicU8);

/// From this share of `maxmemory` the oldest finished jobs go.
const SHORT: f64 = 0.7;
/// From this share on new jobs are refused; what is left is for the ends of those that are there.
pub(super) const FULL: f64 = 0.9;

/// How much less has to be in use than where a step began until it is over.
const BACK: f64 = 0.02;

/// Steps of shortage, each with what follows from it.
const STEPS: [&str; 4] = [
    "memory of Redis is there again: new jobs are taken",
    "memory of Redis is short: finished jobs are deleted before their time, the oldest first; jobs with a retention or an idempotency key stay",
    "Redis is nearly full: new jobs are refused (1007) until finished jobs have made room",
    "Redis is full: new jobs, starts and retries are refused (1007), log lines are lost, and each pool takes one job a second; running jobs go on \
     and their ends are recorded",
];

impl Pressure {
    /// Whether new jobs are taken.
    pub(super) fn admits_jobs(&self) -> bool {
        self.0.load(Ordering::Relaxed) < 2
    }

    /// Whether jobs have to go before their time.
    pub(super) fn is_short(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= 1
    }

    /// Takes note of how full Redis is. What follows from a change is logged once.
    pub(super) fn note(&self, used: u64, limit: u64) {
        let share = if limit == 0 { 0.0 } else { used as f64 / limit as f64 };
        let before = self.0.load(Ordering::Relaxed);
        let reached = [SHORT, FULL, 1.0].into_iter().filter(|limit| share >= *limit).count();
        // It is over a little below where it began, so that the log does not tell of it to and fro.
        let left = [SHORT, FULL, 1.0].into_iter().filter(|limit| share >= limit - BACK).count();
        let step = u8::try_from(reached.max(left.min(before.into()))).unwrap_or(3);
        self.0.store(step, Ordering::Relaxed);
        let what = STEPS[usize::from(step)];
        match step.cmp(&before) {
            std::cmp::Ordering::Greater => tracing::warn!(used, limit, "{what}"),
            std::cmp::Ordering::Less => tracing::info!(used, limit, "{what}"),
            std::cmp::Ordering::Equal => {}
        }
    }
}
