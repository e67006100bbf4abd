use hero_jobs::dispatch;
use hero_model::{ContextId, FlowId, FlowStatus, JobError, JobId, RunnerId};

/// Why something with a flow was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// What the flow is to be cannot be meant.
    #[error("{0}")]
    Invalid(String),
    /// One of its jobs was refused, so nothing was made.
    #[error("jobs.{name}: {error}")]
    Job {
        /// The name of the job.
        name: String,
        /// Why.
        error: Box<dispatch::Error>,
    },
    /// There is no such flow (any more).
    #[error("flow {0} does not exist; list_flows gives those that do")]
    NotFound(FlowId),
    /// The context has as many flows as it may.
    #[error("context {context} has {most} flows and takes no more; delete_flow makes room, and so does a flow whose retention is over")]
    Full {
        /// The context.
        context: ContextId,
        /// How many it may have.
        most: u32,
    },
    /// Others have taken the numbers that a flow or its jobs would get.
    #[error(
        "context {0} has no number left for the flow or one of its jobs (flow:N, job:CALLER:N): other programs have taken those that come next; try again"
    )]
    NoNumber(ContextId),
    /// The idempotency key stands for a flow with other parameters.
    #[error("idempotency_key: was used with other parameters for flow {0}; use another key, or the same parameters")]
    Reused(FlowId),
    /// Another call has not made the flow yet that the idempotency key stands for.
    #[error(
        "flow {0}, which the idempotency key stands for, is still being made by another call; repeat this one in a moment, or within a minute if the server of that one was killed"
    )]
    Making(FlowId),
    /// The flow's status does not allow this.
    #[error("flow {flow} {}, so it cannot be {action}", standing(*status))]
    State {
        /// The flow.
        flow: FlowId,
        /// The status it has.
        status: FlowStatus,
        /// What was wanted, as a past participle.
        action: &'static str,
    },
    /// Something else is being done with all of its jobs.
    #[error("flow {flow} is busy {with} its jobs; try again in a moment")]
    Busy {
        /// The flow.
        flow: FlowId,
        /// What is being done.
        with: String,
    },
    /// The flow ended badly.
    #[error("flow {flow} {}", ending(failures, *stopped))]
    Failed {
        /// The flow.
        flow: FlowId,
        /// Those of its jobs that ended badly by themselves, at most 16.
        failures: Vec<Failure>,
        /// Whether somebody asked to stop it.
        stopped: bool,
    },
    /// The wait is over, the flow is not.
    #[error("flow {flow} is still {status}, {open} of its jobs have not ended; get_flow shows them{}", without_runner(gone.as_ref()))]
    StillRunning {
        /// The flow.
        flow: FlowId,
        /// The status it has.
        status: FlowStatus,
        /// How many of its jobs have not ended.
        open: u32,
        /// The first of them whose runner was deleted, with the number of that.
        gone: Option<(String, RunnerId)>,
    },
    /// The same as for a runner.
    #[error(transparent)]
    Runner(#[from] crate::Error),
    /// The same as for a job.
    #[error(transparent)]
    Dispatch(#[from] dispatch::Error),
}

/// A job of a flow that ended badly.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// Its name.
    pub name: String,
    /// Its id.
    pub job_id: JobId,
    /// Why.
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
