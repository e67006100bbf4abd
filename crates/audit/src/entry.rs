use serde::Deserialize;

use hero_model::{ContextId, Timestamp};

/// A record as people are shown it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entry {
    /// Its number.
    pub seq: u64,
    /// When it ended.
    pub time: Timestamp,
    /// Who did it.
    pub who: String,
    /// Where the call came from.
    #[serde(default)]
    pub peer: Option<String>,
    /// The method, or a word of ours.
    pub what: String,
    /// The context in which it was done.
    #[serde(default)]
    pub context: Option<ContextId>,
    /// What it was done to or has made.
    #[serde(default)]
    pub object: Option<String>,
    /// For whom it was done: the `caller_id` of a job.
    #[serde(default)]
    pub caller: Option<String>,
    /// How it ended: `ok`, `refused`, `failed` or `unknown`.
    pub outcome: String,
    /// The code of the wire.
    #[serde(default)]
    pub code: Option<i32>,
    /// The number of an attempt.
    #[serde(default)]
    pub attempt: Option<u32>,
    /// How an attempt ended.
    #[serde(default)]
    pub end: Option<String>,
    /// How long an attempt took.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// How often the same happened.
    #[serde(default)]
    pub count: Option<u64>,
    /// What the server has to say.
    #[serde(default)]
    pub note: Option<String>,
}

impl Entry {
    /// How it ended, in a few words.
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
