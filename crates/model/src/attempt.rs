use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JobError, Timestamp};

/// The resources that an attempt used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Script operations.
    pub operations: u64,
    /// The peak memory of the script, or of one process of a command that it ran, in bytes.
    pub peak_memory: u64,
    /// How long the script ran, in milliseconds.
    pub run_ms: u64,
    /// The processor time of the script and its commands, in microseconds; 0 if it is not known, for example because
    /// the engine was killed.
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
    /// Its error. Of attempts before the last, the message is cut after 1 KB.
    pub error: Option<JobError>,
    /// The resources that it used.
    pub usage: Option<Usage>,
}
