use std::time::Duration;

/// The number of jobs that an actor may have at a time. While jobs are short it exceeds the one that runs.
///
/// A round trip to Redis costs as much as several short scripts. While jobs take well under a millisecond, a fetch
/// takes more of them than can run at once, so that engines do not wait for the next fetch. An actor has about five
/// milliseconds of work at most, and a pool whose actors are all busy requeues the rest ([`STALE_AFTER`]).
#[derive(Debug)]
pub(super) struct Prefetch {
    /// The moving average of the running times of jobs, in microseconds. Each job counts for an eighth.
    recent: f64,
}

/// Maximum work of an actor, in microseconds.
const MAX_WORK_MICROS: f64 = 5000.0;
/// Maximum number of jobs of an actor, however short they are.
const MAX_JOBS: usize = 64;
/// A job that has waited in the pool for this long is requeued when every actor is busy.
pub(super) const STALE_AFTER: Duration = Duration::from_millis(10);

impl Default for Prefetch {
    fn default() -> Self {
        Self { recent: 10_000.0 }
    }
}

impl Prefetch {
    /// Notes the running time of a job.
    pub(super) fn ran(&mut self, time: Duration) {
        self.recent += (time.as_micros() as f64 - self.recent) / 8.0;
    }

    /// Takes no jobs ahead for a while, because jobs had to wait in the pool.
    pub(super) fn pause(&mut self) {
        self.recent = self.recent.max(10_000.0);
    }

    /// Returns the number of jobs that an actor may have at a time, at least one.
    pub(super) fn depth(&self) -> usize {
        ((MAX_WORK_MICROS / self.recent.max(1.0)) as usize).clamp(1, MAX_JOBS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_jobs_are_taken_ahead() {
        let mut prefetch = Prefetch::default();
        assert_eq!(prefetch.depth(), 1);
        for _ in 0..64 {
            prefetch.ran(Duration::from_micros(50));
        }
        assert_eq!(prefetch.depth(), MAX_JOBS);
        prefetch.pause();
        assert_eq!(prefetch.depth(), 1);
    }
}
