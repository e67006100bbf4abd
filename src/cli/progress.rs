use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Nothing is shown for waits that are over at once.
const PATIENCE: Duration = Duration::from_millis(400);
const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

/// A line on stderr that says what is waited for; on terminals only.
#[derive(Debug)]
pub(super) struct Progress {
    terminal: bool,
    begun: Instant,
    shown: bool,
    frame: usize,
}

impl Progress {
    /// How often [`Progress::show`] is worth calling.
    pub(super) const EVERY: Duration = Duration::from_millis(120);

    pub(super) fn new(quiet: bool) -> Self {
        Self { terminal: !quiet && std::io::stderr().is_terminal(), begun: Instant::now(), shown: false, frame: 0 }
    }

    /// Whether there is anybody to see it.
    pub(super) fn is_on(&self) -> bool {
        self.terminal
    }

    pub(super) fn show(&mut self, what: &str) {
        if self.terminal && self.begun.elapsed() >= PATIENCE {
            self.frame = (self.frame + 1) % FRAMES.len();
            let _ = write!(std::io::stderr(), "\r\x1b[2K{} {what} ({:.0} s)", FRAMES[self.frame], self.begun.elapsed().as_secs_f64());
            let _ = std::io::stderr().flush();
            self.shown = true;
        }
    }

    /// Makes room for a line of output.
    pub(super) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
            let _ = std::io::stderr().flush();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
