use std::cell::Cell;
use std::time::Instant;

use tokio::time::{MissedTickBehavior, interval};

use crate::cli::output::progress::Progress;
use crate::cli::output::{self, Style};

/// Shows the current step of the measurement, and its progress.
pub(super) struct Steps {
    quiet: bool,
    /// The number of jobs of the step that are done.
    done: Cell<u64>,
}

impl Steps {
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet, done: Cell::new(0) }
    }

    /// Counts one more job of this step as done.
    pub(super) fn count(&self) {
        self.done.set(self.done.get() + 1);
    }

    /// Does a step with `jobs` jobs.
    pub(super) async fn step<T>(&self, what: &str, jobs: u64, work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        self.done.set(0);
        let (mut progress, begun) = (Progress::new(self.quiet), Instant::now());
        let mut ticks = interval(progress.every());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        tokio::pin!(work);
        let result = loop {
            tokio::select! {
                result = &mut work => break result,
                _ = ticks.tick(), if progress.is_on() => {
                    let done = if jobs > 0 { format!(", {} of {jobs}", self.done.get().min(jobs)) } else { String::new() };
                    progress.show(&format!("{what}{done}"), true);
                }
            }
        };
        drop(progress);
        if !self.quiet && result.is_ok() {
            output::note(Style::stderr().dim(format!("{what}: done in {:.1} s", begun.elapsed().as_secs_f64())));
        }
        result
    }
}
