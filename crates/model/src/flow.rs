//! Flows: groups of jobs that wait for each other.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{
    ContextId, ErrorKind, FlowJobSpec, JobError, JobId, RunnerId, ScriptType, Seconds, Status, Timestamp, each_once, each_once_or_none,
    or_default,
};

/// The number of a flow in its context. It is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FlowId(pub u32);

impl fmt::Display for FlowId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for FlowId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

impl JsonSchema for FlowId {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "FlowId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX })
    }
}

/// The status of a flow, in the words of the coordinator's specification.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FlowStatus {
    /// It is created or started, and none of its jobs has begun.
    Dispatched,
    /// It is started, and waits for jobs outside the flow.
    WaitingForPrerequisites,
    /// One of its jobs has begun.
    Started,
    /// All of its jobs have ended, and one of them in error.
    Error,
    /// All of its jobs have finished.
    Finished,
}

impl FlowStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [Self::Dispatched, Self::WaitingForPrerequisites, Self::Started, Self::Error, Self::Finished];

    /// The word on the wire and in Redis.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dispatched => "dispatched",
            Self::WaitingForPrerequisites => "waiting_for_prerequisites",
            Self::Started => "started",
            Self::Error => "error",
            Self::Finished => "finished",
        }
    }

    /// Returns the status that a word names.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether the flow has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Error | Self::Finished)
    }
}

impl fmt::Display for FlowStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a flow treats its other jobs when one ends in error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OnFailure {
    /// They are stopped.
    #[default]
    Stop,
    /// Those that do not wait for it continue.
    Continue,
}

impl OnFailure {
    /// The word on the wire and in Redis.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Continue => "continue",
        }
    }
}

/// A flow to create: its jobs by name, and what they share.
///
/// The order of the fields is the order of positional parameters.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// The jobs by name, at most 1,000. Names have letters, digits and `_`, and are also those of `inputs`.
    #[serde(deserialize_with = "each_once")]
    pub jobs: BTreeMap<String, FlowJobSpec>,
    /// A display name.
    pub name: Option<String>,
    /// Environment variables of all its jobs: the value of `env` in their scripts. The values are secrets, except those
    /// of the variables that `HERO_PLAIN` names.
    #[serde(default, deserialize_with = "each_once_or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub env_vars: BTreeMap<String, String>,
    /// How the flow treats its other jobs when one ends in error: `stop` (the default) stops them, `continue` runs
    /// those that do not wait for it.
    #[serde(default, deserialize_with = "or_default")]
    pub on_failure: OnFailure,
    /// Jobs outside the flow that must finish before it begins.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<JobId>,
    /// Seconds to keep the flow and its jobs after its end; seven days by default.
    pub retention: Option<Seconds>,
    /// The caller that creates it: by default the identity of the session, else `anonymous`.
    pub caller_id: Option<String>,
    /// The context it belongs to.
    #[serde(default, deserialize_with = "or_default")]
    pub context_id: ContextId,
    /// A key for this request. For 24 hours, the same key of the same caller with the same parameters returns the same
    /// flow. The flow is kept at least that long.
    pub idempotency_key: Option<String>,
}

/// One job of a flow, as it is now.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowJob {
    /// Its name in the flow.
    pub name: String,
    /// The id of the job, as methods of jobs take it.
    pub job_id: JobId,
    /// Its number: `n` of `job:{caller}:{n}`.
    pub number: u32,
    /// Its status. Absent: it was deleted.
    pub status: Option<Status>,
    /// The names of the jobs of the flow that it waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The script type, whose actors run it.
    pub script_type: ScriptType,
    /// The number of the runner that runs it.
    pub runner: Option<RunnerId>,
    /// How many attempts have begun.
    pub attempt: u32,
    /// When its last attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// Its error, or that of its last attempt.
    pub error: Option<JobError>,
}

/// Everything that is known about a flow.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Its number.
    pub flow_id: FlowId,
    /// Its status.
    pub status: FlowStatus,
    /// The name its creator gave it.
    pub name: Option<String>,
    /// The context it belongs to.
    pub context_id: ContextId,
    /// The caller that created it.
    pub caller_id: String,
    /// How a flow treats its other jobs when one ends in error.
    pub on_failure: OnFailure,
    /// The environment variables of all its jobs; the values are shown as `***`, except those that `HERO_PLAIN` names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_vars: BTreeMap<String, String>,
    /// Whether somebody asked to stop it.
    #[serde(default)]
    pub stop_requested: bool,
    /// When it was created, to the second.
    pub created_at: Timestamp,
    /// When it last changed, to the second.
    pub updated_at: Timestamp,
    /// When its first job began.
    pub started_at: Option<Timestamp>,
    /// When its last job ended.
    pub finished_at: Option<Timestamp>,
    /// Its jobs, each after those that it waits for.
    pub jobs: Vec<FlowJob>,
    /// The results of its jobs by name, once it has ended: the outputs of the finished jobs, exactly as stored.
    pub result: BTreeMap<String, String>,
    /// Whether outputs are missing from `result`: those of more than 64 KB, and all after the first megabyte.
    /// `get_result` returns each.
    #[serde(default)]
    pub truncated: bool,
    /// Its jobs as a graph, in the language of Mermaid.
    pub graph: String,
}

/// A flow in a list.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowSummary {
    /// Its number.
    pub flow_id: FlowId,
    /// Its status.
    pub status: FlowStatus,
    /// The name its creator gave it.
    pub name: Option<String>,
    /// The caller that created it.
    pub caller_id: String,
    /// How many jobs it has.
    pub jobs: u32,
    /// How many of them have not ended.
    pub open: u32,
    /// How many of them ended in error.
    pub failed: u32,
    /// Whether somebody asked to stop it.
    #[serde(default)]
    pub stop_requested: bool,
    /// When it was created, to the second.
    pub created_at: Timestamp,
    /// When its first job began.
    pub started_at: Option<Timestamp>,
    /// When its last job ended.
    pub finished_at: Option<Timestamp>,
}

/// Flows, newest first.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowPage {
    /// The flows.
    pub flows: Vec<FlowSummary>,
    /// The cursor of the next page, if there are more.
    pub next_cursor: Option<String>,
}

/// A change of a flow, or of one of its jobs.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowEvent {
    /// The flow.
    pub flow_id: FlowId,
    /// Where it is in its life now.
    pub status: FlowStatus,
    /// How many of its jobs have not ended.
    pub open: u32,
    /// The cursor for the items after this one. Absent if the flow's jobs are gone.
    pub cursor: Option<String>,
    /// The name of the job that changed. Absent if the item is the current state of the flow, and no job changed.
    pub job: Option<String>,
    /// The id of that job.
    pub job_id: Option<JobId>,
    /// The status of that job now.
    pub job_status: Option<Status>,
    /// The kind of the error with which it ended or is tried again.
    pub kind: Option<ErrorKind>,
    /// How many of its attempts have begun.
    pub attempt: Option<u32>,
}
