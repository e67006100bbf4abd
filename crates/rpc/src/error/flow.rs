//! The codes of refused operations on flows, and their data for programs.

use serde_json::{Value, json};

use super::{Code, Error};
use hero_coordinator::flows;
use hero_model::FlowStatus;

/// Errors about the jobs of a flow have the same codes as for single jobs.
impl From<flows::Error> for Error {
    fn from(error: flows::Error) -> Self {
        match error {
            flows::Error::Dispatch(error) => Self::Dispatch(error),
            flows::Error::Runner(error) => error.into(),
            error => Self::Flow(error),
        }
    }
}

pub(super) fn code_of(error: &flows::Error) -> Code {
    use flows::Error as F;
    match error {
        F::Invalid(_) => Code::InvalidParams,
        F::Job { error, .. } => super::code_of(error),
        F::NotFound(_) => Code::NotFound,
        F::Full { .. } | F::NoNumber(_) => Code::QueueFull,
        F::Reused(_) => Code::IdempotencyReused,
        F::Making(_) => Code::RateLimited,
        F::State { .. } | F::Busy { .. } => Code::State,
        F::Failed { stopped: true, .. } => Code::JobStopped,
        F::Failed { .. } => Code::JobFailed,
        F::StillRunning { .. } => Code::WaitRanOut,
        F::Runner(error) => super::coordinator::code_of(error),
        F::Dispatch(error) => super::code_of(error),
    }
}

pub(super) fn data_of(error: &flows::Error) -> Option<Value> {
    use flows::Error as F;
    match error {
        F::Invalid(_) | F::Runner(_) | F::Full { .. } | F::NoNumber(_) => None,
        F::Job { name, error } => {
            let mut data = super::data_of(error).unwrap_or_else(|| json!({}));
            data["job"] = json!(name);
            Some(data)
        }
        F::NotFound(flow) | F::Busy { flow, .. } | F::Reused(flow) => Some(json!({"flow_id": flow})),
        F::Making(flow) => Some(json!({"flow_id": flow, "retry_after_ms": 1000})),
        F::State { flow, status, .. } => Some(json!({"flow_id": flow, "status": status})),
        F::Failed { flow, failures, .. } => {
            let told =
                |failure: &flows::Failure| json!({"job": failure.name, "job_id": failure.job_id, "error": super::written(&failure.error)});
            let failed: Vec<Value> = failures.iter().map(told).collect();
            Some(json!({"flow_id": flow, "status": FlowStatus::Error, "failed": failed}))
        }
        F::StillRunning { flow, status, open, .. } => Some(json!({"flow_id": flow, "status": status, "open": open})),
        F::Dispatch(error) => super::data_of(error),
    }
}
