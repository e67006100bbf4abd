use std::borrow::Cow;
use std::time::Duration;

use jsonrpsee::types::{ErrorObject, ErrorObjectOwned};
use serde_json::{Value, json};

use hero_coordinator::flows;
use hero_jobs::dispatch;
use hero_model::{ErrorKind, JobError, Status, tree};

mod access;
mod coordinator;
pub(super) mod data;
mod flow;
mod store;

pub(super) use hero_model::api::Code;

/// The reason why a call has no result. The message is for the caller and says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The parameters don't fit the method.
    #[error("{0}")]
    Params(String),
    /// The request cannot be made this way.
    #[error("{0}")]
    Request(&'static str),
    /// There is no such method.
    #[error("there is no method {0:?}; rpc.discover lists all")]
    NoMethod(String),
    /// The dispatcher refused the operation.
    #[error(transparent)]
    Dispatch(#[from] dispatch::Error),
    /// An operation on a flow was refused.
    #[error(transparent)]
    Flow(flows::Error),
    /// An operation on identities, tokens or rights was refused.
    #[error(transparent)]
    Access(hero_access::Error),
    /// An operation on objects of the coordinator was refused.
    #[error(transparent)]
    Coordinator(hero_coordinator::Error),
    /// The call could not be recorded.
    #[error("{0}; nothing was done")]
    Audit(#[from] hero_audit::Closed),
    /// Too many calls or too much data at once, with the time of the next try.
    #[error("{what}; try again in {} ms", retry_after.as_millis())]
    Busy {
        /// The resource that is used up.
        what: Cow<'static, str>,
        /// The time after which a new try makes sense.
        retry_after: Duration,
    },
    /// The session's identity may not do this.
    #[error("permission denied: {0}")]
    Denied(Cow<'static, str>),
    /// The session has no identity, but the call needs one.
    #[error("not authenticated: send `Authorization: Bearer …`, or log in first")]
    NotAuthenticated,
    /// The handler took longer than a call may take.
    #[error("the call took longer than {} s and was given up; whether it was done is unknown", .0.as_secs_f64())]
    Deadline(Duration),
    /// The result is too large for a response. The call was executed.
    #[error("the answer has more than {0} bytes, which is the limit of a response (--max-response); ask for less at a time")]
    AnswerTooLarge(usize),
    /// The subscriber did not read its notifications fast enough.
    #[error("the subscriber reads too slowly; subscribe again with the last cursor")]
    Slow,
    /// A bug in hero.
    #[error("internal error; the server's log says more")]
    Internal,
}

impl From<hero_access::Error> for Error {
    fn from(error: hero_access::Error) -> Self {
        match error {
            // A full Redis is told in one way, whatever was to be stored.
            hero_access::Error::Store(source) if source.out_of_memory() => Self::Dispatch(dispatch::Error::from(source)),
            error => Self::Access(error),
        }
    }
}

impl Error {
    /// Returns the error of a method that only reads. It says that nothing was done, because such a method changes nothing.
    pub(super) fn of_a_read(mut self) -> Self {
        if let Self::Dispatch(dispatch::Error::Store { not_done, .. }) = &mut self {
            *not_done = true;
        }
        self
    }

    /// Returns the code of the error. This is the only place that assigns codes.
    pub fn code(&self) -> Code {
        match self {
            Self::Params(_) => Code::InvalidParams,
            Self::Request(_) => Code::InvalidRequest,
            Self::NoMethod(_) => Code::MethodNotFound,
            Self::Denied(_) => Code::PermissionDenied,
            Self::NotAuthenticated => Code::NotAuthenticated,
            Self::Busy { .. } | Self::Slow => Code::RateLimited,
            Self::Deadline(_) | Self::Audit(_) => Code::StoreUnavailable,
            Self::AnswerTooLarge(_) => Code::TooLarge,
            Self::Internal => Code::Internal,
            Self::Dispatch(error) => code_of(error),
            Self::Flow(error) => flow::code_of(error),
            Self::Access(error) => access::code_of(error),
            Self::Coordinator(error) => coordinator::code_of(error),
        }
    }

    /// Returns the data that a program can read besides the code.
    fn data(&self) -> Option<Value> {
        match self {
            Self::Busy { retry_after, .. } => Some(json!({"retry_after_ms": millis(*retry_after)})),
            Self::Deadline(_) => Some(json!({"outcome": "unknown"})),
            Self::Audit(_) => Some(json!({"outcome": "not_done"})),
            Self::AnswerTooLarge(limit) => Some(json!({"limit": limit})),
            Self::Dispatch(error) => data_of(error),
            Self::Flow(error) => flow::data_of(error),
            Self::Access(hero_access::Error::TooFast(after)) => Some(json!({"retry_after_ms": millis(*after)})),
            Self::Access(hero_access::Error::HasJobs { jobs, .. }) => Some(json!(jobs)),
            Self::Access(hero_access::Error::Store(source)) => Some(store::data_of(source, source.not_done(), None)),
            _ => None,
        }
    }

    /// Returns the message for the caller: the fault, and what to do. Causes inside the store are left out.
    fn message(&self) -> String {
        use dispatch::Error as D;
        match self {
            Self::Access(hero_access::Error::Store(source)) => store::message_of(source, source.not_done(), ", and try again"),
            Self::Dispatch(D::NotFound(job_id)) => {
                format!("job {job_id} does not exist: it never did, was deleted, or its retention is over")
            }
            Self::Dispatch(D::TooLarge { what: "the job", .. }) => format!("{self}; list_jobs gives the beginning"),
            Self::Dispatch(D::IdempotencyReused(_)) => format!("{self}; use another key, or the same parameters"),
            Self::Dispatch(D::StillRunning { .. }) => format!("{self}; wait_job waits on"),
            Self::Dispatch(D::Store { not_done, source, .. }) => {
                store::message_of(source, *not_done, " with get_status, or repeat the call with an idempotency_key")
            }
            _ => self.to_string(),
        }
    }

    /// Returns the error for an answer without room.
    pub(super) const fn no_room() -> Self {
        Self::Busy {
            what: Cow::Borrowed("too many answers at once, or answers that are not read (held_per_connection, held_per_address, held)"),
            retry_after: Duration::from_secs(1),
        }
    }

    /// Converts the error for the caller. It logs the causes that the caller does not see, so call it only once.
    pub(crate) fn into_object(self) -> ErrorObjectOwned {
        if let Self::Access(hero_access::Error::Store(source)) = &self {
            tracing::warn!(error = %source, "a call failed, because Redis did not answer or refused it");
        }
        if let Self::Dispatch(dispatch::Error::Store { source, job_id, .. }) = &self {
            tracing::warn!(error = %source, job_id = job_id.as_ref().map(tracing::field::display), "a call failed, because Redis did not answer or refused it");
        }
        ErrorObject::owned(self.code().number(), self.message(), self.data())
    }
}

fn code_of(error: &dispatch::Error) -> Code {
    use dispatch::Error as D;
    match error {
        D::Entry { error, .. } => code_of(error),
        D::Invalid { .. } | D::Script(_) => Code::InvalidParams,
        D::Store { .. } => Code::StoreUnavailable,
        D::NoContext(_) | D::Deleting(_) | D::NoSchedule(_) | D::NoObject { .. } => Code::NotFound,
        D::NotFound(_) | D::Gone(_) => Code::JobNotFound,
        D::State { .. } | D::Exists { .. } | D::Blocked { .. } | D::ScheduleExists(_) => Code::State,
        D::UnknownScriptType { .. } => Code::UnknownScriptType,
        D::Full { .. } => Code::QueueFull,
        D::TooLarge { .. } => Code::TooLarge,
        D::Busy { .. } | D::TooFast { .. } => Code::RateLimited,
        D::IdempotencyReused(_) | D::ScheduleReused(_) => Code::IdempotencyReused,
        D::Failed { error, .. } if error.kind == ErrorKind::Stopped => Code::JobStopped,
        D::Failed { .. } => Code::JobFailed,
        D::StillRunning { .. } => Code::WaitRanOut,
    }
}

fn data_of(error: &dispatch::Error) -> Option<Value> {
    use dispatch::Error as D;
    match error {
        D::Entry { index, error } => {
            let mut data = data_of(error).unwrap_or_else(|| json!({}));
            data["index"] = json!(index);
            Some(data)
        }
        D::Script(error) => Some(json!({"error": written(error)})),
        D::Invalid { .. } | D::NoContext(_) | D::Deleting(_) | D::UnknownScriptType { .. } => None,
        D::NoObject { collection, id } => Some(json!({"collection": collection, "id": id})),
        D::NoSchedule(schedule_id) | D::ScheduleExists(schedule_id) | D::ScheduleReused(schedule_id) => {
            Some(json!({"schedule_id": schedule_id}))
        }
        D::NotFound(job_id) | D::Gone(job_id) | D::IdempotencyReused(job_id) => Some(json!({"job_id": job_id})),
        D::State { job_id, status, .. } | D::Exists { job_id, status } => Some(json!({"job_id": job_id, "status": status})),
        D::Blocked { job_id, prerequisite } => Some(json!({"job_id": job_id, "status": Status::Error, "prerequisite": prerequisite})),
        D::Full { retry_after, .. } | D::Busy { retry_after, .. } | D::TooFast { retry_after } => {
            Some(json!({"retry_after_ms": millis(*retry_after)}))
        }
        D::TooLarge { limit, .. } => Some(json!({"limit": limit})),
        D::Failed { job_id, error, attempt } => {
            Some(json!({"job_id": job_id, "status": Status::Error, "error": written(error), "attempt": attempt}))
        }
        D::StillRunning { job_id, status, explanation, reason } => {
            let mut data = json!({"job_id": job_id, "status": status, "explanation": explanation});
            if let Some(reason) = reason {
                data["reason"] = json!(reason);
            }
            Some(data)
        }
        D::Store { job_id, not_done, source } => Some(store::data_of(source, *not_done, job_id.as_ref())),
    }
}

/// Returns the error of a job as JSON. It contains the value that a script threw, so `json!` alone must not read it (see [`tree`]).
fn written(error: &JobError) -> Value {
    let text = serde_json::to_string(error).expect("an error has a JSON form");
    tree(&text).expect("what was just written is JSON, and what scripts throw is nested less deeply than can be read")
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests;
