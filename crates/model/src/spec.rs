use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::json::Once;
use super::{ContextId, JobId, Json, Name, Priority, RunnerId, ScriptType, Seconds, Timestamp, each_once_or_none, or_default};

/// A job to create. Only `script` is required.
///
/// The order of the fields is the order of positional parameters, most used first.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// The script to run.
    pub script: String,
    /// The script type, whose actors run it: `osis`, `sal`, or a configured type.
    #[serde(default, deserialize_with = "or_default")]
    pub script_type: ScriptType,
    /// The value of `args` in the script: any JSON, nested at most 100 deep.
    pub args: Option<Json>,
    /// The time limit of one attempt in seconds. 60 by default.
    pub timeout: Option<Seconds>,
    /// Extra attempts after an error or a timeout.
    #[serde(default, deserialize_with = "or_default")]
    pub retries: u32,
    /// Seconds before the second attempt, doubling for each further one up to 300. 1 by default.
    pub retry_backoff: Option<Seconds>,
    /// 0 urgent, 1 normal, 2 low.
    #[serde(default, deserialize_with = "or_default")]
    pub priority: Priority,
    /// A display name.
    pub name: Option<String>,
    /// Labels for finding the job.
    #[serde(default, deserialize_with = "each_once_or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Environment variables: the value of `env` in the script. Their values are secrets, masked in logs and in
    /// `get_job`. The variable `HERO_PLAIN` names those whose values are not: `"HERO_PLAIN": "MODE,CUSTOMER"`.
    #[serde(default, deserialize_with = "each_once_or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub env_vars: BTreeMap<String, String>,
    /// The job does not run before this time (RFC 3339).
    pub run_at: Option<Timestamp>,
    /// A key for this request. For 24 hours, the same key with the same parameters returns the same job.
    pub idempotency_key: Option<String>,
    /// Seconds to keep the job after its end.
    pub retention: Option<Seconds>,
    /// Jobs that must finish first.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub prerequisites: Vec<JobId>,
    /// The parent job.
    pub parent_id: Option<JobId>,
    /// The job that must end first, together with all its descendants.
    pub predecessor_id: Option<JobId>,
    /// Only actors of this group may run it.
    pub group: Option<Name>,
    /// Only the actor with this number may run it, in the group `default` if no group is given.
    pub instance: Option<u32>,
    /// Whether the job may run at the same time as others of its actor (`sal`).
    #[serde(default, deserialize_with = "or_default")]
    pub concurrent: bool,
    /// The path of its log file, relative to the log directory; at most 8 parts between slashes.
    pub log_path: Option<String>,
    /// The context it belongs to.
    #[serde(default, deserialize_with = "or_default")]
    pub context_id: ContextId,
    /// The caller that creates it: by default the identity of the session, else `anonymous`.
    pub caller_id: Option<String>,
    /// The worker of the dispatcher protocol; a number is the instance.
    pub worker_id: Option<Name>,
    /// Jobs that wait for this job.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub dependents: Vec<JobId>,
    /// An identifier chosen by the client, stored unchanged.
    pub client_rpc_id: Option<String>,
    /// The id of the job; a new one by default.
    pub job_id: Option<JobId>,
}

impl JobSpec {
    /// The caller of jobs whose session has no identity.
    pub const ANONYMOUS: &str = "anonymous";
    /// The default of `timeout`.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

    /// The other jobs that this one names.
    pub fn named(&self) -> impl Iterator<Item = &JobId> {
        self.prerequisites.iter().chain(&self.dependents).chain(&self.parent_id).chain(&self.predecessor_id)
    }
}

/// JSON of a job for another reader. Refuses duplicate names of the job, and in its fields that are maps, such as
/// `labels`. Free JSON in it, such as `args`, is read as [`Json`].
#[derive(Debug, Serialize)]
pub struct JobJson(pub Json);

impl<'de> Deserialize<'de> for JobJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        static JOB: LazyLock<Once> = LazyLock::new(|| {
            let schema = schemars::schema_for!(JobSpec);
            let fields = schema.get("properties").and_then(|fields| fields.as_object()).into_iter().flatten();
            Once::with_members(fields.filter(|(_, schema)| schema.get("additionalProperties").is_some()).map(|(name, _)| name))
        });
        JOB.read(deserializer).map(Self)
    }
}

/// One job of a flow to create. Only `script` is required.
// It repeats fields of `JobSpec`: these have another order and other descriptions here, and serde cannot refuse unknown
// fields of a flattened struct.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowJobSpec {
    /// The script to run.
    pub script: String,
    /// The script type, whose actors run it: `osis`, `sal`, or a configured type; by default that of its runner, or
    /// `osis`.
    pub script_type: Option<ScriptType>,
    /// The value of `args` in the script: any JSON.
    pub args: Option<Json>,
    /// The names of the jobs of the flow that must finish first. Its script reads their results as `inputs.NAME`.
    #[serde(default, deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// The number of the runner that runs it.
    pub runner: Option<RunnerId>,
    /// Only actors of this group may run it.
    pub group: Option<Name>,
    /// 0 urgent, 1 normal, 2 low.
    #[serde(default, deserialize_with = "or_default")]
    pub priority: Priority,
    /// The time limit of one attempt in seconds. 60 by default.
    pub timeout: Option<Seconds>,
    /// Extra attempts after an error or a timeout.
    #[serde(default, deserialize_with = "or_default")]
    pub retries: u32,
    /// Seconds before the second attempt, doubling for each further one up to 300. 1 by default.
    pub retry_backoff: Option<Seconds>,
    /// Environment variables besides those of the flow. A variable here replaces that of the same name there.
    #[serde(default, deserialize_with = "each_once_or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub env_vars: BTreeMap<String, String>,
    /// Labels for finding the job.
    #[serde(default, deserialize_with = "each_once_or_none", skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl FlowJobSpec {
    /// Returns the job itself. What its flow decides, such as what it waits for, is missing.
    pub fn job(&self) -> JobSpec {
        // Each field is named, so that the compiler finds one that is forgotten here.
        let Self { script, script_type, args, depends_on: _, runner, group, priority, timeout, retries, retry_backoff, env_vars, labels } =
            self.clone();
        JobSpec {
            script,
            script_type: script_type.unwrap_or_default(),
            args,
            timeout,
            retries,
            retry_backoff,
            priority,
            labels,
            env_vars,
            group: runner.map_or(group, |runner| Some(runner.group())),
            ..JobSpec::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The fields of a job that jobs of flows do not have, and why.
    const OF_SINGLE_JOBS: [(&str, &str); 16] = [
        ("name", "its name in the flow is its name"),
        ("run_at", "it starts when its flow does and the jobs in `depends_on` have finished"),
        ("idempotency_key", "the flow has one"),
        ("retention", "the flow has one"),
        ("prerequisites", "`depends_on` names jobs of the flow, and the flow has prerequisites"),
        ("parent_id", "its relatives are jobs of the flow"),
        ("predecessor_id", "its relatives are jobs of the flow"),
        ("dependents", "its relatives are jobs of the flow"),
        ("instance", "a runner or a group runs it, which the coordinator's specification has"),
        ("worker_id", "it is a field of the dispatcher protocol, which has no flows"),
        ("client_rpc_id", "it is a field of the dispatcher protocol, which has no flows"),
        ("concurrent", "the coordinator's specification has no such field"),
        ("log_path", "the coordinator's specification has no such field"),
        ("context_id", "the flow has one"),
        ("caller_id", "the flow has one"),
        ("job_id", "the flow gives each job a new one"),
    ];

    /// The fields that only jobs of flows have.
    const OF_FLOWS: [&str; 2] = ["depends_on", "runner"];

    fn fields<T: JsonSchema>() -> BTreeSet<String> {
        let schema = schemars::schema_for!(T);
        schema.get("properties").and_then(|fields| fields.as_object()).unwrap().keys().cloned().collect()
    }

    #[test]
    fn a_job_of_a_flow_has_each_field_of_a_job_or_a_reason_why_not() {
        let (mut expected, single) = (fields::<JobSpec>(), OF_SINGLE_JOBS.map(|(field, _)| field));
        assert!(single.iter().all(|field| expected.remove(*field)), "each exclusion is a field, once");
        expected.extend(OF_FLOWS.map(str::to_owned));
        assert_eq!(fields::<FlowJobSpec>(), expected, "add the field to FlowJobSpec and its method `job`, or say above why not");
    }
}
