use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ContextId, ErrorKind, JobId, Progress, Status, Timestamp};

/// One change of one job.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobEvent {
    /// Where to go on following after this event.
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
    /// Why it ended badly or is tried again.
    pub kind: Option<ErrorKind>,
    /// How far its script says it is.
    pub progress: Option<Progress>,
}
