//! The file of a flow: YAML, of which JSON is a subset.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};

use crate::model::{FlowJobSpec, JobError, JobId, Json, Name, OnFailure, Priority, RunnerId, ScriptType, Seconds, or_default};

/// A flow: jobs that wait for each other.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Flow of hero")]
pub(super) struct FlowFile {
    /// A display name.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// Environment variables of all jobs: the value of `env` in their scripts.
    #[serde(default)]
    pub(super) env_vars: BTreeMap<String, String>,
    /// How the flow treats its other jobs when one ends in error: `stop` (the default) stops them, `continue` runs
    /// those that do not wait for it.
    #[serde(default)]
    pub(super) on_failure: OnFailure,
    /// Jobs outside the flow that must finish before it begins, by their ids.
    #[serde(default)]
    pub(super) prerequisites: Vec<JobId>,
    /// How long to keep the flow and its jobs after its end, in seconds or such as `12h`; seven days by default.
    #[serde(default)]
    #[schemars(with = "Option<Length>")]
    pub(super) retention: Option<Seconds>,
    /// The context it belongs to.
    #[serde(default)]
    pub(super) context_id: u32,
    /// The jobs by name. Names have letters, digits and `_`.
    #[serde(deserialize_with = "later")]
    #[schemars(with = "BTreeMap<String, FileJob>")]
    pub(super) jobs: Jobs,
}

/// One job of a flow: `script`, or the `file` that has it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FileJob {
    /// The script to run.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(super) script: Option<Spanned<String>>,
    /// The file that has the script, beside the file of the flow. Its name gives the script type, if nothing else does.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub(super) file: Option<Spanned<PathBuf>>,
    /// The script type, whose actors run it: `osis`, `sal`, `python`, `v` or a configured type; by default that of its
    /// runner, or `osis`.
    #[serde(default)]
    pub(super) script_type: Option<ScriptType>,
    /// The value of `args` in the script.
    #[serde(default)]
    pub(super) args: Option<Json>,
    /// The names of the jobs that must finish first. The script reads their results as `inputs.NAME`.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub(super) depends_on: Vec<Spanned<String>>,
    /// The number of the runner that runs it.
    #[serde(default)]
    #[schemars(with = "Option<u32>")]
    pub(super) runner: Option<RunnerId>,
    /// Only actors of this group may run it.
    #[serde(default)]
    pub(super) group: Option<Name>,
    /// 0 urgent, 1 normal, 2 low.
    #[serde(default, deserialize_with = "or_default")]
    pub(super) priority: Priority,
    /// The time limit of one attempt, in seconds or such as `5m`; 60 s by default.
    #[serde(default)]
    #[schemars(with = "Option<Length>")]
    pub(super) timeout: Option<Seconds>,
    /// Extra attempts after an error or a timeout.
    #[serde(default)]
    pub(super) retries: u32,
    /// How long to wait before the second attempt, in seconds or such as `200ms`, doubling for each further one up to 300 s; 1 s by default.
    #[serde(default)]
    #[schemars(with = "Option<Length>")]
    pub(super) retry_backoff: Option<Seconds>,
    /// Environment variables besides those of the flow. A variable here replaces that of the same name there.
    #[serde(default)]
    pub(super) env_vars: BTreeMap<String, String>,
    /// Labels for finding the job.
    #[serde(default)]
    pub(super) labels: BTreeMap<String, String>,
}

impl FileJob {
    /// Returns the job with this script and script type, which may come from another file.
    pub(super) fn with_script(self, script: String, script_type: Option<ScriptType>) -> FlowJobSpec {
        FlowJobSpec {
            script,
            script_type,
            args: self.args,
            depends_on: self.depends_on.into_iter().map(|other| other.value).collect(),
            runner: self.runner,
            group: self.group,
            priority: self.priority,
            timeout: self.timeout,
            retries: self.retries,
            retry_backoff: self.retry_backoff,
            env_vars: self.env_vars,
            labels: self.labels,
        }
    }
}

/// Describes a duration in the schema.
struct Length;

impl JsonSchema for Length {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Length".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"], "minimum": 0, "pattern": "^[0-9][0-9_.]* *(ms|s|m|min|h|d)$" })
    }
}

/// The jobs of a flow by name, with the location of each name.
#[derive(Debug, Default)]
pub(super) struct Jobs(pub(super) BTreeMap<String, (Location, FileJob)>);

/// A line and a column, both from 1.
pub(super) type SourcePosition = (u64, u64);

/// Skips the jobs, which are read separately.
fn later<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Jobs, D::Error> {
    <()>::deserialize(deserializer).map(|()| Jobs::default())
}

/// A fault of a file, and its location.
#[derive(Debug)]
pub(super) struct Diagnostic {
    /// The location, if known.
    pub(super) at: Option<SourcePosition>,
    /// The description.
    pub(super) message: String,
    /// For a script: its text and its error.
    pub(super) script: Option<Box<(String, JobError)>>,
}

impl Diagnostic {
    pub(super) fn new(at: Option<SourcePosition>, message: String) -> Self {
        Self { at, message, script: None }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some((line, column)) => write!(f, "{line}:{column}: {}", self.message),
            None => write!(f, " {}", self.message),
        }
    }
}

pub(super) fn position(location: Location) -> Option<SourcePosition> {
    (location.line() > 0).then(|| (location.line(), location.column()))
}

/// Returns the keys of a flow or of a job, in the order of their declaration.
pub(in crate::cli) fn known_keys<T: JsonSchema>() -> Vec<String> {
    let schema = schema_of::<T>();
    let keys = schema.get("properties").and_then(Value::as_object).map(|keys| keys.keys().cloned().collect());
    keys.unwrap_or_default()
}

/// Returns the JSON Schema of the file.
pub(super) fn schema() -> String {
    let schema = schema_of::<FlowFile>();
    let text = serde_json::to_string_pretty(&schema).expect("a schema has a JSON form");
    format!("{text}\n")
}

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft07().into_generator().into_root_schema_for::<T>()
}
