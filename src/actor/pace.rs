use std::time::Duration;

/// How many jobs an actor may hold: more than the one it runs only while jobs are short.
///
/// A round trip to Redis costs as much as several short scripts. While jobs take well under a millisecond, a turn takes more
/// than can run at once, so that engines need not wait for the next one. An actor holds no more than about five milliseconds
/// of work, and a pool that finds all its actors busy gives the rest back ([`STALE`]).
#[derive(Debug)]
pub(super) struct Pace {
    /// The recent running time of jobs, in microseconds, moving by an eighth with each.
    recent: f64,
}

/// The work an actor may hold.
const AHEAD: f64 = 5000.0;
/// No actor holds more jobs.
const DEEPEST: usize = 64;
/// A job that has waited in the pool for so long is given back when every actor is busy.
pub(super) const STALE: Duration = Duration::from_millis(10);

impl Default for Pace {
    fn default() -> Self {
        Self { recent: 10_000.0 }
    }
}

impl Pace {
    /// Notes how long a job ran.
    pub(super) fn ran(&mut self, time: Duration) {
        self.recent += (time.as_micros() as f64 - self.recent) / 8.0;
    }

    /// Notes that jobs waited in the pool: nothing is taken ahead for a while.
    pub(super) fn slowed(&mut self) {
        self.recent = self.recent.max(10_000.0);
    }

    /// How many jobs an actor may hold, at least one.
    pub(super) fn depth(&self) -> usize {
        ((AHEAD / self.recent.max(1.0)) as usize).clamp(1, DEEPEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_jobs_are_taken_ahead() {
        let mut pace = Pace::default();
        assert_eq!(pace.depth(), 1);
        for _ in 0..64 {
            pace.ran(Duration::from_micros(50));
        }
        assert_eq!(pace.depth(), DEEPEST);
        pace.slowed();
        assert_eq!(pace.depth(), 1);
    }
}
