use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Json, exact};

/// The kind of the error of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The script is wrong or threw an error.
    Script,
    /// An attempt ran longer than `timeout`.
    Timeout,
    /// A client stopped it.
    Stopped,
    /// The script hit a limit of its engine.
    Limit,
    /// Its engine or its actor died, three times.
    Crashed,
    /// A job that it waited for ended in error.
    Prerequisite,
    /// It cannot run here: it has a bad field, or its engine does not start.
    Unavailable,
}

impl ErrorKind {
    /// The word in Redis and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Script => "script",
            Self::Timeout => "timeout",
            Self::Stopped => "stopped",
            Self::Limit => "limit",
            Self::Crashed => "crashed",
            Self::Prerequisite => "prerequisite",
            Self::Unavailable => "unavailable",
        }
    }

    /// Returns the kind of a job in error: from the stored word, or from the bare error text of a foreign actor.
    pub fn parse(word: Option<&str>, error: &str) -> Self {
        match (word, error) {
            (Some("timeout"), _) | (None, "timeout") => Self::Timeout,
            (Some("stopped"), _) | (None, "stopped" | "stopped_by_request") => Self::Stopped,
            (Some("limit"), _) => Self::Limit,
            (Some("crashed"), _) => Self::Crashed,
            (Some("prerequisite"), _) => Self::Prerequisite,
            (Some("unavailable"), _) => Self::Unavailable,
            _ => Self::Script,
        }
    }
}

/// The limit that a script of kind `limit` hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ScriptLimit")]
pub enum Limit {
    /// Too many operations.
    Operations,
    /// Too much processor time.
    #[serde(rename = "cpu_time")]
    CpuTime,
    /// Too much memory, or one value too large.
    Memory,
    /// Too much log.
    Log,
    /// The result is too large or too deep.
    Result,
    /// The script itself is too large.
    Source,
}

impl Limit {
    /// The word in Redis and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::CpuTime => "cpu_time",
            Self::Memory => "memory",
            Self::Log => "log",
            Self::Result => "result",
            Self::Source => "source",
        }
    }

    /// Returns the limit that a stored word names.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Operations, Self::CpuTime, Self::Memory, Self::Log, Self::Result, Self::Source]
            .into_iter()
            .find(|limit| limit.as_str() == word)
    }
}

/// The error of a job, and its place in the script.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobError {
    /// The kind of the failure.
    pub kind: ErrorKind,
    /// The error message.
    pub message: String,
    /// The line of the script, from 1.
    pub line: Option<u32>,
    /// The column of the script, from 1.
    pub column: Option<u32>,
    /// The script functions that were running, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<String>,
    /// The limit that was hit, for kind `limit`.
    pub limit: Option<Limit>,
    /// The value that the script threw, unless that was a string, nothing, or more than 64 KB of JSON. If it is a map
    /// with a string `message`, that is the message.
    pub data: Option<Json>,
}

impl JobError {
    /// Creates an error without a position.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), line: None, column: None, stack: Vec::new(), limit: None, data: None }
    }
}

/// The format of an output's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// The script returned nothing; the text is empty.
    Empty,
    /// The script returned this text.
    Text,
    /// The text is the JSON of what the script returned.
    Json,
}

impl OutputFormat {
    /// The word in Redis.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

/// The return value of a script: a text, and its format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The text that is stored and sent as the reply.
    pub text: String,
    /// The format of the text.
    pub format: OutputFormat,
}

impl Output {
    /// Returns the value that the script returned, if `format` (the stored word) says that there is one. A foreign
    /// actor may store any text: one that is not JSON, or that has an integer beyond those of scripts, has no value.
    pub fn value(text: &str, format: Option<&str>) -> Option<Json> {
        match format? {
            "empty" => Some(().into()),
            "text" => Some(text.into()),
            "json" => serde_json::from_str(&exact(text, "output").ok()?).ok(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::marked;

    #[test]
    fn the_value_is_what_the_script_returned_whatever_names_are_in_it() {
        let value = |text: &str, format| Output::value(text, Some(format)).map(|json| json.as_str().to_owned());
        for inner in ["[1,2]", "[", ""] {
            let text = format!(r#"{{"{}":"{inner}"}}"#, marked::NAME);
            assert_eq!(value(&text, "json"), Some(text));
        }
        assert_eq!(value(&marked::nested(60), "json"), Some(marked::written(60)));
        assert_eq!((value("", "empty"), value("a\"", "text")), (Some("null".into()), Some(r#""a\"""#.into())));
        assert_eq!((value("[", "json"), value("1", "odd"), Output::value("1", None)), (None, None, None));
        assert_eq!((value("[99999999999999999999]", "json"), value("[-0]", "json")), (None, Some("[0]".into())));
    }
}
