use std::time::{Duration, Instant};

use super::output::{self, Line, Style};

/// Nothing is shown for waits that are shorter than this.
const SHOWN_AFTER: Duration = Duration::from_millis(400);
/// How long a frame is shown.
const FRAME: Duration = Duration::from_millis(120);
/// The frames that show that the command still waits.
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

/// Shows on stderr what is waited for: on a terminal in one line that changes, otherwise in a line now and then.
#[derive(Debug)]
pub(super) struct Progress {
    quiet: bool,
    terminal: bool,
    begun: Instant,
    said: Instant,
    /// Since when what is waited for does not run, until that is said; without a terminal.
    waits: Option<Instant>,
    /// Whether it did run when it was looked at.
    runs: bool,
    shown: bool,
    frame: usize,
}

impl Progress {
    /// How often a line is written if stderr is not a terminal.
    const SELDOM: Duration = Duration::from_secs(10);
    /// How long something may wait until that is said, if stderr is not a terminal.
    const PATIENCE: Duration = Duration::from_secs(2);
    /// How often to ask what to show.
    const NEWS: Duration = Duration::from_secs(1);

    pub(super) fn new(quiet: bool) -> Self {
        let now = Instant::now();
        Self { quiet, terminal: output::is_watched(), begun: now, said: now, waits: Some(now), runs: false, shown: false, frame: 0 }
    }

    /// Whether anything is shown.
    pub(super) fn is_on(&self) -> bool {
        !self.quiet
    }

    /// How often [`Progress::show`] is worth calling.
    pub(super) fn every(&self) -> Duration {
        if self.terminal { FRAME } else { Self::NEWS }
    }

    /// How often to ask what to show.
    pub(super) fn news(&self) -> Duration {
        Self::NEWS
    }

    /// Shows what is waited for, and whether it runs, if it is time for that.
    pub(super) fn show(&mut self, what: &str, runs: bool) {
        if std::mem::replace(&mut self.runs, runs) != runs {
            self.waits = (!runs).then(Instant::now);
        }
        if self.quiet || self.begun.elapsed() < SHOWN_AFTER {
            return;
        }
        let waited = format!("({:.0} s)", self.begun.elapsed().as_secs_f64());
        if self.terminal {
            self.frame = (self.frame + 1) % FRAMES.len();
            // The line stays shorter than the terminal is wide, because a wrapped line could not be erased.
            let room = output::columns_of_notes().unwrap_or(80).saturating_sub(FRAMES[0].len() + waited.len() + 3);
            let line = Line::from(FRAMES[self.frame]) + " " + Line::from(what).cut(room.max(1)) + " " + waited;
            output::transient(Some(&line));
            self.shown = true;
        } else if self.said.elapsed() >= Self::SELDOM || self.waits.is_some_and(|since| since.elapsed() >= Self::PATIENCE) {
            (self.said, self.waits) = (Instant::now(), None);
            output::note(Style::stderr().dim(format!("-- {what} {waited} --")));
        }
    }

    /// Erases the line, before other output is printed.
    pub(super) fn clear(&mut self) {
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
