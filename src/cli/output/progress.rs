use std::time::{Duration, Instant};

use crate::cli::output::{self, Line, Style};

/// Waits shorter than this show nothing.
const SHOWN_AFTER: Duration = Duration::from_millis(400);
/// Time for which a frame is shown.
const FRAME_TIME: Duration = Duration::from_millis(120);
/// The frames of the waiting animation.
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

/// Shows progress on stderr: on a terminal in one line that changes, otherwise in a line now and then.
#[derive(Debug)]
pub(in crate::cli) struct Progress {
    quiet: bool,
    terminal: bool,
    begun: Instant,
    said: Instant,
    /// The time since which the job does not run, until that is shown; without a terminal.
    waits: Option<Instant>,
    /// Whether the job was running at the last check.
    runs: bool,
    shown: bool,
    frame: usize,
}

impl Progress {
    /// Interval of lines without a terminal.
    const LINE_INTERVAL: Duration = Duration::from_secs(10);
    /// Time after which a job that does not run is reported, without a terminal.
    const REPORT_WAITING_AFTER: Duration = Duration::from_secs(2);
    /// Interval for asking about the job.
    const ASK_INTERVAL: Duration = Duration::from_secs(1);

    pub(in crate::cli) fn new(quiet: bool) -> Self {
        let now = Instant::now();
        Self { quiet, terminal: output::is_watched(), begun: now, said: now, waits: Some(now), runs: false, shown: false, frame: 0 }
    }

    /// Whether anything is shown.
    pub(in crate::cli) fn is_on(&self) -> bool {
        !self.quiet
    }

    /// Returns the interval at which [`Progress::show`] should be called.
    pub(in crate::cli) fn every(&self) -> Duration {
        if self.terminal { FRAME_TIME } else { Self::ASK_INTERVAL }
    }

    /// Returns the interval for asking about the job.
    pub(in crate::cli) fn news(&self) -> Duration {
        Self::ASK_INTERVAL
    }

    /// Shows `what`, and whether it runs, if it is time for that.
    pub(in crate::cli) fn show(&mut self, what: &str, runs: bool) {
        if std::mem::replace(&mut self.runs, runs) != runs {
            self.waits = (!runs).then(Instant::now);
        }
        if self.quiet || self.begun.elapsed() < SHOWN_AFTER {
            return;
        }
        let waited = format!("({:.0} s)", self.begun.elapsed().as_secs_f64());
        if self.terminal {
            self.frame = (self.frame + 1) % FRAMES.len();
            // Keep the line narrower than the terminal, because a wrapped line could not be erased.
            let room = output::columns_of_notes().unwrap_or(80).saturating_sub(FRAMES[0].len() + waited.len() + 3);
            let line = Line::from(FRAMES[self.frame]) + " " + Line::from(what).cut(room.max(1)) + " " + waited;
            output::transient(Some(&line));
            self.shown = true;
        } else if self.said.elapsed() >= Self::LINE_INTERVAL
            || self.waits.is_some_and(|since| since.elapsed() >= Self::REPORT_WAITING_AFTER)
        {
            (self.said, self.waits) = (Instant::now(), None);
            output::note(Style::stderr().dim(format!("-- {what} {waited} --")));
        }
    }

    /// Erases the line, before other output is printed.
    pub(in crate::cli) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            output::transient(None);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
