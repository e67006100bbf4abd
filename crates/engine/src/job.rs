use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, HostCall, JobCall};
use hero_model::{ContextId, JobError, JobId, Json, LogLevel, Output, Usage};

/// The part of a job that an engine needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineJob {
    /// The job; the script's `JOB_ID`.
    pub job_id: JobId,
    /// The creator of the job; the script's `CALLER_ID`.
    pub caller_id: String,
    /// The tenant; the script's `CONTEXT_ID`.
    pub context_id: ContextId,
    /// The number of the attempt, from 1; the script's `ATTEMPT`.
    pub attempt: u32,
    /// The script.
    pub script: String,
    /// The script's `args`; an empty map if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Json>,
    /// The script's `env`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The maximum run time, at most [`EngineJob::MAX_RUN_TIME`].
    pub timeout: Duration,
}

impl EngineJob {
    /// The maximum run time of a job, whatever its timeout is, because clocks and timers are limited.
    pub const MAX_RUN_TIME: Duration = Duration::from_secs(365 * 24 * 3600);
}

/// One log record of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// Its level.
    #[serde(rename = "l")]
    pub level: LogLevel,
    /// The text; it may contain line breaks.
    #[serde(rename = "t")]
    pub text: String,
}

/// The end of a job in its engine.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// The returned value, or the error.
    pub result: Result<Output, JobError>,
    /// The usage, as far as the engine could still report it.
    pub usage: Usage,
}

/// The environment of a running script outside of its engine. The worker implements it, so an engine does not know
/// where log lines go and where answers come from.
pub trait Host {
    /// Takes the log records of the script, in order, within some milliseconds.
    ///
    /// Must not block. An engine that sends far more than its log limit is killed, so the amount is bounded.
    fn log(&mut self, records: Vec<LogRecord>);

    /// Answers a host call of the script. The future may be dropped before it is done, when the script ends meanwhile.
    fn answer(&mut self, host_call: HostCall) -> BoxFuture<'static, Answer> {
        // Without a job there are no prerequisites, no schedule, and nobody who follows the progress.
        let answer = match host_call {
            HostCall::Jobs(JobCall::Inputs) => Ok(Value::Array(Vec::new()).into()),
            HostCall::Jobs(JobCall::Occurrence) | HostCall::Progress(_) => Ok(Value::Null.into()),
            HostCall::Jobs(JobCall::Spawn { .. }) | HostCall::Objects(_) | HostCall::Resource(_) => {
                Err("there is no server here; try it with `hero run -e`, and the --type whose pools are granted it".to_owned())
            }
        };
        Box::pin(std::future::ready(answer))
    }
}

#[cfg(test)]
impl EngineJob {
    /// A job for tests.
    pub(super) fn of(script: &str) -> Self {
        Self {
            job_id: JobId::random(),
            caller_id: "alice".into(),
            context_id: ContextId(0),
            attempt: 1,
            script: script.into(),
            args: None,
            env: BTreeMap::new(),
            timeout: Duration::from_secs(60),
        }
    }
}
