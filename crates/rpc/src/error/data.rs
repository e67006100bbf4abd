//! The data of errors for programs, besides the code: a type for each code that has `data`, named after it. The document has them as
//! schemas.

use schemars::{JsonSchema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Code;
use hero_model::{ErrorKind, FlowId, JobError, JobId, Reason, Status};

/// The outcome of a call that the store did not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "Outcome")]
pub(crate) enum CallOutcome {
    /// Nothing was done.
    NotDone,
    /// Whether it was done is unknown.
    Unknown,
}

/// A job of a flow that failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailedJob {
    /// Its name in the flow.
    pub job: String,
    /// Its id.
    pub job_id: JobId,
    /// Its error, with the place in the script.
    pub error: JobError,
}

/// Adds to each type the place among the jobs of one call, and defines its fields as they are on the wire: fields that do not apply are
/// absent.
macro_rules! data {
    ($($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $of:literal])+ $field:ident: $type:ty,)* })*) => {
        $(
        $(#[doc = $doc])+
        #[serde_with::skip_serializing_none]
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct $name {
            $(
                $(#[doc = $of])+
                pub $field: Option<$type>,
            )*
            /// The index of the job among those of `create_jobs`, from 0.
            pub index: Option<u32>,
            /// The name of the job in its flow.
            pub job: Option<String>,
        }
    )*

        /// Adds all of them to a document.
        pub(crate) fn describe(generator: &mut SchemaGenerator) {
            $(generator.subschema_for::<$name>();)*
        }
    };
}

data! {
    /// The data of error 1002: the state that prevents the call.
    StateData {
        /// The job.
        job_id: JobId,
        /// The flow.
        flow_id: FlowId,
        /// The schedule.
        schedule_id: JobId,
        /// The status that it has.
        status: Status,
        /// The job that it waits for, which failed.
        prerequisite: JobId,
        /// How many jobs of the context run.
        running: u64,
        /// How many jobs of the context wait in queues.
        queued: u64,
        /// How many jobs of the context wait for their time, or for somebody to start them.
        scheduled: u64,
        /// How many messages of the context wait.
        messages: u64,
    }
    /// The data of error -32602: the error of a script that does not compile, if that is the cause.
    InvalidParamsData {
        /// The error of the script.
        error: JobError,
    }
    /// The data of error 1001: the job that does not exist.
    JobNotFoundData {
        /// The job.
        job_id: JobId,
    }
    /// The data of error 1006: when to try again.
    RateLimitedData {
        /// The milliseconds after which to try again.
        retry_after_ms: u64,
        /// The flow that another call is creating.
        flow_id: FlowId,
    }
    /// The data of error 1007: when to try again.
    QueueFullData {
        /// The milliseconds after which to try again.
        retry_after_ms: u64,
    }
    /// The data of error 1008: the limit.
    TooLargeData {
        /// The limit, in the unit that the message names.
        limit: u64,
    }
    /// The data of error 1009: the outcome of the call.
    StoreUnavailableData {
        /// Whether anything was done.
        outcome: CallOutcome,
        /// The job that may have been stored.
        job_id: JobId,
        /// The key of Redis that another program has spoilt, if that is the cause.
        key: String,
    }
    /// The data of error 1010: the job, flow or schedule that the key stands for.
    IdempotencyReusedData {
        /// The job.
        job_id: JobId,
        /// The flow.
        flow_id: FlowId,
        /// The schedule.
        schedule_id: JobId,
    }
    /// The data of error 1011: the flow, schedule or object that does not exist.
    NotFoundData {
        /// The flow.
        flow_id: FlowId,
        /// The schedule.
        schedule_id: JobId,
        /// The collection of the object.
        collection: String,
        /// The id of the object.
        id: String,
    }
    /// The data of error 1101: how a job or a flow failed.
    JobFailedData {
        /// The job.
        job_id: JobId,
        /// Its status, which is `error`.
        status: Status,
        /// The attempt that failed.
        attempt: u32,
        /// Its error, with the place in the script.
        error: JobError,
        /// The flow.
        flow_id: FlowId,
        /// The jobs of the flow that failed.
        failed: Vec<FailedJob>,
    }
    /// The data of error 1102: the job or the flow that is waited for.
    WaitRanOutData {
        /// The job, which continues.
        job_id: JobId,
        /// The flow, which continues.
        flow_id: FlowId,
        /// The status that it has.
        status: Status,
        /// Why it is not running, as a sentence.
        explanation: String,
        /// The same, as a word.
        reason: Reason,
        /// How many jobs of the flow have not ended.
        open: u32,
    }
    /// The data of error 1103: the job or the flow that was stopped.
    JobStoppedData {
        /// The job.
        job_id: JobId,
        /// Its status, which is `error`.
        status: Status,
        /// The attempt that failed.
        attempt: u32,
        /// Its error, with the place in the script.
        error: JobError,
        /// The flow.
        flow_id: FlowId,
        /// The jobs of the flow that failed.
        failed: Vec<FailedJob>,
    }
}

/// Returns an example of the data of an error, for `openrpc.json`.
pub(crate) fn example(code: Code) -> Option<Value> {
    let job_id: JobId = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().ok()?;
    let failed = |error: JobError| JobFailedData {
        job_id: Some(job_id.clone()),
        status: Some(Status::Error),
        attempt: Some(1),
        error: Some(error),
        ..JobFailedData::default()
    };
    Some(match code {
        Code::State => json!(StateData { job_id: Some(job_id), status: Some(Status::Started), ..StateData::default() }),
        Code::JobNotFound => json!(JobNotFoundData { job_id: Some(job_id), ..JobNotFoundData::default() }),
        Code::RateLimited => json!(RateLimitedData { retry_after_ms: Some(250), ..RateLimitedData::default() }),
        Code::QueueFull => json!(QueueFullData { retry_after_ms: Some(250), ..QueueFullData::default() }),
        Code::TooLarge => json!(TooLargeData { limit: Some(65536), ..TooLargeData::default() }),
        Code::StoreUnavailable => {
            json!(StoreUnavailableData { outcome: Some(CallOutcome::Unknown), job_id: Some(job_id), ..StoreUnavailableData::default() })
        }
        Code::IdempotencyReused => json!(IdempotencyReusedData { job_id: Some(job_id), ..IdempotencyReusedData::default() }),
        Code::NotFound => json!(NotFoundData { flow_id: Some(FlowId(1)), ..NotFoundData::default() }),
        Code::JobFailed => {
            let mut error = JobError::new(ErrorKind::Script, "Variable not found: x");
            (error.line, error.column) = (Some(1), Some(5));
            json!(failed(error))
        }
        Code::JobStopped => json!(failed(JobError::new(ErrorKind::Stopped, "stopped_by_request"))),
        Code::WaitRanOut => json!(WaitRanOutData {
            job_id: Some(job_id),
            status: Some(Status::Dispatched),
            explanation: Some("no live actor takes jobs of v".to_owned()),
            reason: Some(Reason::NoLiveActor),
            ..WaitRanOutData::default()
        }),
        _ => return None,
    })
}
