use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JobError, Timestamp};

/// What an attempt used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Script operations.
    pub operations: u64,
    /// The most memory the script held at once, or one process of a command that it ran, in bytes.
    pub peak_memory: u64,
    /// How long the script ran, in milliseconds.
    pub run_ms: u64,
    /// How much processor time it took, with its commands, in microseconds; 0 where that is not known, as of a script whose engine was killed.
    #[serde(default)]
    pub cpu_us: u64,
}

/// One run of a job.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// The actor that ran it.
    pub actor: Option<String>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Why it ended badly. Of attempts before the last the message is cut after 1 KB.
    pub error: Option<JobError>,
    /// What it used.
    pub usage: Option<Usage>,
}
