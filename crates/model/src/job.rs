use std::collections::{BTreeMap, HashMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{Attempt, ContextId, JobError, JobId, Json, Name, Output, Priority, ScriptType, Seconds, Status, Timestamp, Usage};

/// The progress that a running script reports.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// A number of the script's choice, usually percent.
    pub value: f64,
    /// The current step, in words.
    #[serde(default)]
    pub text: String,
}

/// The result of a prerequisite of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// The prerequisite.
    pub job_id: JobId,
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its result: a text, JSON, or `null`.
    pub value: Json,
}

impl Input {
    /// Returns the key of each input in the script's `inputs`: its name, or its id if it has no name or shares it with
    /// another input. So no key occurs twice.
    pub fn keys(inputs: &[Self]) -> Vec<&str> {
        let mut taken: HashMap<&str, usize> = HashMap::new();
        for input in inputs {
            *taken.entry(input.job_id.as_str()).or_default() += 1;
            if let Some(name) = &input.name {
                *taken.entry(name).or_default() += 1;
            }
        }
        let is_own = |name: &&String| taken.get(name.as_str()) == Some(&1);
        inputs.iter().map(|input| input.name.as_ref().filter(is_own).map_or(input.job_id.as_str(), String::as_str)).collect()
    }
}

/// The result of a finished job.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// The job.
    pub job_id: JobId,
    /// Always `finished`: a job that ended in error is a JSON-RPC error.
    #[schemars(schema_with = "finished")]
    pub status: Status,
    /// The output, exactly as stored in Redis.
    pub output: String,
    /// The output as JSON, if the engine returned a structured value (always for Rhai).
    #[serde(default, with = "present")]
    #[schemars(with = "Json")]
    pub value: Option<Json>,
    /// The number of the attempt that finished, from 1.
    pub attempt: u32,
    /// When that attempt began.
    pub started_at: Option<Timestamp>,
    /// When the job ended.
    pub finished_at: Option<Timestamp>,
    /// The resources that attempt used.
    pub usage: Option<Usage>,
}

impl JobResult {
    /// Creates the result of a job that finished with this output; `format` is the stored word for its format.
    pub fn of(
        job_id: JobId,
        output: String,
        format: Option<&str>,
        attempt: u32,
        times: [Option<Timestamp>; 2],
        usage: Option<Usage>,
    ) -> Self {
        let [started_at, finished_at] = times;
        let value = Output::value(&output, format);
        Self { job_id, status: Status::Finished, output, value, attempt, started_at, finished_at, usage }
    }
}

/// The schema of the only status that a result can have.
fn finished(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "const": Status::Finished })
}

/// Distinguishes `null` (the script returned nothing) from absent (the engine returned no value).
mod present {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::Json;

    pub(super) fn serialize<S: Serializer>(value: &Option<Json>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Json>, D::Error> {
        Json::deserialize(deserializer).map(Some)
    }
}

/// Everything that is known about a job. Fields that were never set are left out.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    /// The job's id.
    pub job_id: JobId,
    /// Its status.
    pub status: Status,
    /// The name its creator gave it.
    pub name: Option<String>,
    /// Labels its creator gave it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// The context it belongs to.
    pub context_id: ContextId,
    /// The caller that created it.
    pub caller_id: Option<String>,
    /// The script type, whose actors run it.
    pub script_type: Option<ScriptType>,
    /// The script.
    pub script: String,
    /// The value of `args` in the script.
    pub args: Option<Json>,
    /// Only actors of this group run it.
    pub group: Option<Name>,
    /// Only this actor of the group runs it.
    pub instance: Option<u32>,
    /// The worker a client of the dispatcher protocol named.
    pub worker_id: Option<String>,
    /// 0 urgent, 1 normal, 2 low.
    pub priority: Priority,
    /// The time limit of one attempt in seconds.
    pub timeout: Option<Seconds>,
    /// Extra attempts after an error or a timeout.
    pub retries: u32,
    /// Whether the job may run at the same time as others of its actor.
    pub concurrent: bool,
    /// Its environment variables; the values are shown as `***`, except those that `HERO_PLAIN` names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env_vars: BTreeMap<String, String>,
    /// Jobs that must finish first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<JobId>,
    /// Jobs that were named as waiting for this one when it was created.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<JobId>,
    /// The parent job.
    pub parent_id: Option<JobId>,
    /// The job that must end first, together with all its descendants.
    pub predecessor_id: Option<JobId>,
    /// The job does not run before this time.
    pub run_at: Option<Timestamp>,
    /// The path of its log file, relative to the log directory.
    pub log_path: Option<String>,
    /// An identifier chosen by the client.
    pub client_rpc_id: Option<String>,
    /// How many attempts have begun.
    pub attempt: u32,
    /// How often its engine or actor died while it ran.
    pub crashes: u32,
    /// The actor that runs it or ran it last.
    pub actor: Option<String>,
    /// When it was created.
    pub created_at: Option<Timestamp>,
    /// When it last changed.
    pub updated_at: Option<Timestamp>,
    /// When it was last put into a queue.
    pub queued_at: Option<Timestamp>,
    /// When its last attempt began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
    /// When somebody asked to stop it.
    pub stop_requested_at: Option<Timestamp>,
    /// The progress that its script reports.
    pub progress: Option<Progress>,
    /// The output of a finished job, exactly as stored.
    pub output: Option<String>,
    /// Its error, or that of its last attempt.
    pub error: Option<JobError>,
    /// The resources that its last attempt used.
    pub usage: Option<Usage>,
    /// Its attempts, the newest 17 at most: only `get_job` has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attempts: Vec<Attempt>,
    /// In a list: the fields that are cut or left out because they are long. `get_job` returns them in full.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub truncated: Vec<String>,
}
