use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContextId, ErrorKind, JobId, Progress, Status, Timestamp};

/// One change of one job.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobEvent {
    /// The cursor for the events after this one.
    pub cursor: String,
    /// When it happened.
    pub time: Timestamp,
    /// The job that changed.
    pub job_id: JobId,
    /// The context of that job.
    pub context_id: ContextId,
    /// The status it has now.
    pub status: Status,
    /// How many attempts have begun.
    pub attempt: u32,
    /// The kind of the error with which it ended or is tried again.
    pub kind: Option<ErrorKind>,
    /// The progress that its script reports.
    pub progress: Option<Progress>,
}
