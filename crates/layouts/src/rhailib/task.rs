use std::collections::HashMap;
use std::str::FromStr;

use hero_model::Name;

/// A script for the workers of a circle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The circle whose workers run it.
    pub circle: Name,
    /// The script.
    pub script: String,
    /// An identifier from the caller, kept with the task.
    pub client_rpc_id: Option<String>,
}

impl Task {
    /// Creates a task for a circle.
    pub fn new(circle: Name, script: impl Into<String>) -> Self {
        Self { circle, script: script.into(), client_rpc_id: None }
    }
}

/// The status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// No worker has taken it yet.
    Pending,
    /// A worker runs it.
    Processing,
    /// It has an output.
    Completed,
    /// It failed.
    Error,
}

impl Status {
    /// Returns the word of the layout.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::Error => "error",
        }
    }
}

impl FromStr for Status {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        [Self::Pending, Self::Processing, Self::Completed, Self::Error].into_iter().find(|status| status.as_str() == word).ok_or(())
    }
}

/// The details of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Details {
    /// The status of the task.
    pub status: Status,
    /// Its script.
    pub script: String,
    /// The identifier from the caller.
    pub client_rpc_id: Option<String>,
    /// The output of a completed task.
    pub output: Option<String>,
    /// The error of a failed task.
    pub error: Option<String>,
    /// The time of submission, as its client wrote it.
    pub created_at: Option<String>,
    /// The time of the last change, as its client or worker wrote it.
    pub updated_at: Option<String>,
}

impl Details {
    /// Reads the hash of a task. The error is the text of an unknown status.
    pub(super) fn read(fields: HashMap<String, String>) -> Result<Self, String> {
        let mut fields = fields;
        let word = fields.remove("status").unwrap_or_default();
        Ok(Self {
            status: if word.is_empty() { Status::Pending } else { word.parse().map_err(|()| word)? },
            script: fields.remove("script").unwrap_or_default(),
            client_rpc_id: fields.remove("client_rpc_id"),
            output: fields.remove("output"),
            error: fields.remove("error").or_else(|| fields.remove("error_msg")),
            created_at: fields.remove("created_at"),
            updated_at: fields.remove("updated_at"),
        })
    }
}
