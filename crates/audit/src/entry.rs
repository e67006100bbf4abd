use serde::Deserialize;

use hero_model::{ContextId, Timestamp};

/// A parsed record, for display.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entry {
    /// The number of the record.
    pub seq: u64,
    /// The time at which it ended.
    pub time: Timestamp,
    /// The caller, actor or other party that did it.
    pub who: String,
    /// The address that the call came from.
    #[serde(default)]
    pub peer: Option<String>,
    /// The method, or another word such as `execute` or `login`.
    pub what: String,
    /// The context of the call.
    #[serde(default)]
    pub context: Option<ContextId>,
    /// The object that was changed or made.
    #[serde(default)]
    pub object: Option<String>,
    /// The `caller_id` of a job: the party for whom it was done.
    #[serde(default)]
    pub caller: Option<String>,
    /// The outcome: `ok`, `refused`, `failed` or `unknown`.
    pub outcome: String,
    /// The error code of JSON-RPC.
    #[serde(default)]
    pub code: Option<i32>,
    /// The number of an attempt.
    #[serde(default)]
    pub attempt: Option<u32>,
    /// The end of an attempt.
    #[serde(default)]
    pub end: Option<String>,
    /// The duration of an attempt.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// The number of repetitions, if they were counted together.
    #[serde(default)]
    pub count: Option<u64>,
    /// A note of the server.
    #[serde(default)]
    pub note: Option<String>,
}

impl Entry {
    /// Describes the outcome in a few words.
    pub fn ending(&self) -> String {
        let mut text = self.end.clone().filter(|end| *end != self.outcome).unwrap_or_else(|| self.outcome.clone());
        if let Some(code) = self.code {
            text.push_str(&format!(" {code}"));
        }
        if let Some(duration) = self.duration_ms {
            text.push_str(&format!(" {duration} ms"));
        }
        if let Some(count) = self.count {
            text.push_str(&format!(" ×{count}"));
        }
        text
    }
}
