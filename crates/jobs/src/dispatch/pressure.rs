use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

/// The memory pressure of a Redis.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    step: AtomicU8,
    is_full: AtomicBool,
}

/// From this share of `maxmemory` on, the oldest finished jobs are deleted.
const DELETE_FROM_SHARE: f64 = 0.7;
/// From this share on, new jobs are refused. The rest is for the ends of existing jobs.
pub(super) const REFUSE_FROM_SHARE: f64 = 0.9;

/// A step ends when memory use is this far below the share at which it began.
const STEP_MARGIN: f64 = 0.02;

/// The steps of memory pressure, each with its consequences.
const STEPS: [&str; 4] = [
    "memory of Redis is there again: new jobs are taken",
    "memory of Redis is short: finished jobs are deleted before their time, the oldest first; jobs with a retention or an idempotency key stay",
    "Redis is nearly full: new jobs are refused (1007) until finished jobs have made room",
    "Redis is full: new jobs, starts and retries are refused (1007), log lines are lost, and each pool takes one job a second; running jobs go on \
     and their ends are recorded",
];

impl Pressure {
    /// True if new jobs are accepted: by the same share as in the functions, which decide for those that may have been created before.
    pub(super) fn admits_jobs(&self) -> bool {
        !self.is_full.load(Ordering::Relaxed)
    }

    /// True if jobs must be deleted before their time.
    pub(super) fn is_short(&self) -> bool {
        self.step.load(Ordering::Relaxed) >= 1
    }

    /// Notes how full Redis is. Logs each change of the step once.
    pub(super) fn note(&self, used: u64, limit: u64) {
        let share = if limit == 0 { 0.0 } else { used as f64 / limit as f64 };
        self.is_full.store(share >= REFUSE_FROM_SHARE, Ordering::Relaxed);
        let before = self.step.load(Ordering::Relaxed);
        let reached = [DELETE_FROM_SHARE, REFUSE_FROM_SHARE, 1.0].into_iter().filter(|limit| share >= *limit).count();
        // A step ends slightly below the share at which it began, so that the log does not flap.
        let left = [DELETE_FROM_SHARE, REFUSE_FROM_SHARE, 1.0].into_iter().filter(|limit| share >= limit - STEP_MARGIN).count();
        let step = u8::try_from(reached.max(left.min(before.into()))).unwrap_or(3);
        self.step.store(step, Ordering::Relaxed);
        let what = STEPS[usize::from(step)];
        match step.cmp(&before) {
            std::cmp::Ordering::Greater => tracing::warn!(used, limit, "{what}"),
            std::cmp::Ordering::Less => tracing::info!(used, limit, "{what}"),
            std::cmp::Ordering::Equal => {}
        }
    }
}
