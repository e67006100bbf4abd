use std::fmt;
use std::io;

use super::frame::FrameError;

/// Why an engine could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The process could not be started.
    #[error("engine process can't be started: {0}")]
    Spawn(#[from] io::Error),
    /// It started and ended before it was ready.
    #[error("engine ended before it was ready: {0}")]
    Died(#[from] Died),
    /// It was not ready in time.
    #[error("engine was not ready within {0:?}")]
    NotReady(std::time::Duration),
    /// Required steps of confinement are missing. The text names them.
    #[error("engine is refused, because it runs without {0} and confinement is required")]
    Weak(String),
}

/// How an engine process ended by itself, or was killed because it violated the protocol.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{how}")]
pub struct Died {
    /// The signal or the exit code, and the last line it wrote to its error output.
    pub how: String,
    /// Whether it had received the whole job. If not, no part of the script has run.
    pub had_job: bool,
}

impl Died {
    pub(super) fn new(how: impl fmt::Display) -> Self {
        Self { how: how.to_string(), had_job: true }
    }

    pub(super) fn without_job(self) -> Self {
        Self { had_job: false, ..self }
    }
}

impl From<FrameError> for Died {
    fn from(error: FrameError) -> Self {
        Self::new(format_args!("engine broke the frame protocol: {error}"))
    }
}
