use hero_jobs::dispatch;
use hero_model::{ContextId, FlowId, FlowStatus, JobError, JobId, RunnerId};

/// The reason why an operation on a flow was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The specification of the flow is invalid.
    #[error("{0}")]
    Invalid(String),
    /// One of its jobs was refused, so nothing was created.
    #[error("jobs.{name}: {error}")]
    Job {
        /// The name of the job.
        name: String,
        /// The reason.
        error: Box<dispatch::Error>,
    },
    /// The flow does not exist (any more).
    #[error("flow {0} does not exist; list_flows gives those that do")]
    NotFound(FlowId),
    /// The context has the maximum number of flows.
    #[error("context {context} has {most} flows and takes no more; delete_flow makes room, and so does a flow whose retention is over")]
    Full {
        /// The context.
        context: ContextId,
        /// The maximum number.
        most: u32,
    },
    /// Other programs have taken the numbers for the flow or its jobs.
    #[error(
        "context {0} has no number left for the flow or one of its jobs (flow:N, job:CALLER:N): other programs have taken those that come next; try again"
    )]
    NoNumber(ContextId),
    /// The idempotency key was used for a flow with other parameters.
    #[error("idempotency_key: was used with other parameters for flow {0}; use another key, or the same parameters")]
    Reused(FlowId),
    /// Another call is still creating the flow of this idempotency key.
    #[error(
        "flow {0}, which the idempotency key stands for, is still being made by another call; repeat this one in a moment, or within a minute if the server of that one was killed"
    )]
    Making(FlowId),
    /// The flow's status does not allow this.
    #[error("flow {flow} {}, so it cannot be {action}", standing(*status))]
    State {
        /// The flow.
        flow: FlowId,
        /// Its status.
        status: FlowStatus,
        /// The requested action, as a past participle.
        action: &'static str,
    },
    /// Another operation on all its jobs is under way.
    #[error("flow {flow} is busy {with} its jobs; try again in a moment")]
    Busy {
        /// The flow.
        flow: FlowId,
        /// The operation.
        with: String,
    },
    /// The flow ended in error.
    #[error("flow {flow} {}", ending(failures, *stopped))]
    Failed {
        /// The flow.
        flow: FlowId,
        /// Its jobs that failed by themselves, at most 16.
        failures: Vec<Failure>,
        /// Whether a stop was requested.
        stopped: bool,
    },
    /// The wait ended before the flow.
    #[error("flow {flow} is still {status}, {open} of its jobs have not ended; get_flow shows them, wait_flow waits on{}", without_runner(gone.as_ref()))]
    StillRunning {
        /// The flow.
        flow: FlowId,
        /// Its status.
        status: FlowStatus,
        /// The number of its jobs that have not ended.
        open: u32,
        /// The first of these jobs whose runner was deleted, with the number of the runner.
        gone: Option<(String, RunnerId)>,
    },
    /// An error of a runner.
    #[error(transparent)]
    Runner(#[from] crate::Error),
    /// An error of a job.
    #[error(transparent)]
    Dispatch(#[from] dispatch::Error),
}

impl From<hero_store::Error> for Error {
    fn from(source: hero_store::Error) -> Self {
        Self::Dispatch(source.into())
    }
}

impl Error {
    /// Whether the function that creates may not have looked at the idempotency key of a call that was refused so.
    pub(super) fn precedes_key(&self) -> bool {
        match self {
            Self::Job { error, .. } => error.precedes_key(),
            Self::Dispatch(error) => error.precedes_key(),
            error => matches!(error, Self::Runner(_) | Self::Invalid(_)),
        }
    }
}

/// A job of a flow that ended in error.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Its name.
    pub name: String,
    /// Its id.
    pub job_id: JobId,
    /// Its error.
    pub error: JobError,
}

fn standing(status: FlowStatus) -> String {
    match status {
        FlowStatus::Error => "has ended in error".to_owned(),
        FlowStatus::Dispatched => "waits".to_owned(),
        FlowStatus::WaitingForPrerequisites => "waits for other jobs".to_owned(),
        FlowStatus::Started => "runs".to_owned(),
        FlowStatus::Finished => "has finished".to_owned(),
    }
}

fn without_runner(gone: Option<&(String, RunnerId)>) -> String {
    match gone {
        Some((job, runner)) => {
            format!("; its job {job:?} is for runner {runner}, which was deleted, so it will not run: stop_flow ends the flow")
        }
        None => String::new(),
    }
}

fn ending(failures: &[Failure], stopped: bool) -> String {
    match failures {
        _ if stopped => "was stopped".to_owned(),
        [] => "ended in error".to_owned(),
        [Failure { name, error, .. }] => format!("failed: its job {name:?}: {}", error.message),
        [Failure { name, error, .. }, rest @ ..] => {
            format!("failed: its job {name:?}: {}; and {} more", error.message, rest.len())
        }
    }
}
