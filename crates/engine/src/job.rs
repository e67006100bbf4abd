use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Answer, HostCall, JobCall};
use hero_model::{ContextId, JobError, JobId, Json, LogLevel, Output, Usage};

/// What an engine needs to know of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EngineJob {
    /// The job; the script's `JOB_ID`.
    pub job_id: JobId,
    /// Who created it; the script's `CALLER_ID`.
    pub caller_id: String,
    /// The tenant; the script's `CONTEXT_ID`.
    pub context_id: ContextId,
    /// The number of the attempt, from 1; the script's `ATTEMPT`.
    pub attempt: u32,
    /// The script.
    pub script: String,
    /// What the script sees as `args`; an empty map if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub args: Option<Json>,
    /// What the script sees as `env`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long it may run, at most [`EngineJob::LONGEST`].
    pub timeout: Duration,
}

impl EngineJob {
    /// The longest time a job may run, whatever its timeout says, because clocks and timers cannot count for ever.
    pub const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
}

/// One thing a script logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRecord {
    /// How serious it is.
    #[serde(rename = "l")]
    pub level: LogLevel,
    /// What was logged; it may contain line breaks.
    #[serde(rename = "t")]
    pub text: String,
}

/// How a job ended in its engine.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// What the script returned, or why it did not.
    pub result: Result<Output, JobError>,
    /// What it used, as far as the engine could still say.
    pub usage: Usage,
}

/// What a script that runs has of the outside. The worker implements it, so an engine does not know where lines go and answers come from.
pub trait Host {
    /// Takes what the script logged, in order, within some milliseconds.
    ///
    /// Must not block. An engine is killed when it sends far more than its log limit, so what arrives here is bounded.
    fn log(&mut self, records: Vec<LogRecord>);

    /// Answers what the script asks. It may be dropped before it is done, when the script ends meanwhile.
    fn answer(&mut self, host_call: HostCall) -> BoxFuture<'static, Answer> {
        // Where there is no job, it has no prerequisites, no schedule, and nobody who follows it.
        let answer = match host_call {
            HostCall::Jobs(JobCall::Inputs) => Ok(Value::Array(Vec::new()).into()),
            HostCall::Jobs(JobCall::Slot) | HostCall::Progress(_) => Ok(Value::Null.into()),
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
