use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Timestamp;

/// The level of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// `debug(…)` of a script.
    Debug,
    /// `print(…)` and `log_info(…)`.
    Info,
    /// `log_warn(…)`.
    Warn,
    /// `log_error(…)`.
    Error,
}

impl LogLevel {
    /// The word in Redis, in files and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }

    /// Returns the level that a stored word names. Unknown words are `info`.
    pub fn parse(word: &str) -> Self {
        [Self::Debug, Self::Warn, Self::Error].into_iter().find(|level| level.as_str() == word).unwrap_or(Self::Info)
    }
}

/// One line that a job logged.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LogLine {
    /// The cursor for the lines after this one.
    pub cursor: String,
    /// When it was logged; absent in lines of foreign log files.
    pub time: Option<Timestamp>,
    /// Its level.
    pub level: LogLevel,
    /// The text of the line.
    pub text: String,
}

/// Lines that a job logged, oldest first.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LogPage {
    /// The lines.
    pub lines: Vec<LogLine>,
    /// The cursor for the lines that follow, now or later.
    pub next_cursor: Option<String>,
    /// Whether the job has ended and no lines follow.
    pub ended: bool,
}
