//! Jobs as messages carry them: in the coordinator's words.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::{ContextId, Input, Json, ScriptType};
use crate::store::{AwayJob, RunnerJob};

/// How many jobs one message has at most.
const MOST: usize = 64;
/// The most retries that a job may have.
const MOST_RETRIES: u32 = 255;

/// A job as a message has it. What is not known here is passed over.
#[derive(Debug, Deserialize)]
struct Told {
    #[serde(default)]
    id: u32,
    script: String,
    #[serde(default)]
    script_type: ScriptType,
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    retries: u32,
    #[serde(default)]
    env_vars: std::collections::BTreeMap<String, String>,
    #[serde(default)]
    prerequisites: Vec<Json>,
    #[serde(default)]
    dependends: Vec<u32>,
    #[serde(default)]
    args: Option<Json>,
    #[serde(default)]
    inputs: Option<Vec<Input>>,
}

/// Reads the jobs of a message from this caller. `number` is that of a job that has none.
pub(super) fn read(text: &str, caller: u32, number: u32) -> Result<Vec<RunnerJob>, String> {
    let all: Vec<Told> = serde_json::from_str(text).map_err(|error| format!("job: is no list of jobs: {error}"))?;
    if all.is_empty() || all.len() > MOST {
        return Err(format!("job: a message of type job has 1 to {MOST} jobs, not {}", all.len()));
    }
    all.into_iter().enumerate().map(|(at, told)| of(told, caller, number).map_err(|why| format!("job[{at}]: {why}"))).collect()
}

fn of(told: Told, caller: u32, number: u32) -> Result<RunnerJob, String> {
    if told.script.is_empty() {
        return Err("has no script".into());
    }
    if told.retries > MOST_RETRIES {
        return Err(format!("retries: {} are more than {MOST_RETRIES}", told.retries));
    }
    let timeout = match told.timeout {
        Some(timeout) if !(timeout > 0.0 && timeout < 1e9) => return Err(format!("timeout: {timeout} is no number of seconds")),
        Some(timeout) => timeout.to_string(),
        None => String::new(),
    };
    let mut fields = vec![
        ("script", told.script),
        ("script_type", told.script_type.to_string()),
        ("timeout", timeout),
        ("retries", told.retries.to_string()),
        ("env_vars", written(&told.env_vars)),
        ("prerequisites", written(&told.prerequisites)),
        ("dependends", written(&told.dependends)),
    ];
    if let Some(args) = told.args {
        fields.push(("args", args.as_str().to_owned()));
    }
    if let Some(inputs) = told.inputs {
        fields.push(("inputs", written(&inputs)));
    }
    let number = if told.id == 0 { number } else { told.id };
    Ok(RunnerJob { caller, number, script_type: told.script_type, fields })
}

fn written<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("texts, numbers and JSON can be written")
}

/// Writes a job that goes away, as the one of a message: a JSON list. Retries are for the context that it belongs to, so it has none there.
pub(super) fn write(job: &AwayJob, inputs: &[Input], caller: u32, number: u32, target: ContextId) -> Result<String, String> {
    let tree = |text: &Option<String>, what: &str| match text {
        Some(text) => serde_json::from_str::<Value>(text).map_err(|error| format!("{what}: is no JSON: {error}")),
        None => Ok(Value::Null),
    };
    let mut told = Map::new();
    let mut add = |name: &str, value: Value| drop(told.insert(name.to_owned(), value));
    add("id", json!(job.number.unwrap_or(number)));
    add("caller_id", json!(caller));
    add("context_id", json!(target));
    add("script", json!(job.script));
    add("script_type", json!(job.script_type));
    add("timeout", job.timeout.map_or(Value::Null, Value::from));
    add("retries", json!(0));
    let env = tree(&job.env_vars, "env_vars")?;
    add("env_vars", if env.is_null() { json!({}) } else { env });
    add("prerequisites", json!([]));
    add("dependends", json!([]));
    let mut text = written(&told);
    text.pop();
    // These are any JSON, so they are not written anew.
    if let Some(args) = &job.args {
        text.push_str(&format!(",\"args\":{args}"));
    }
    if !inputs.is_empty() {
        text.push_str(&format!(",\"inputs\":{}", written(&inputs)));
    }
    Ok(format!("[{text}}}]"))
}
