//! Jobs in messages, in the format of the coordinator's specification.

mod relations;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use hero_jobs::dispatch::check_bounds;
use hero_model::{ContextId, Input, JobSpec, Json, ScriptType, Seconds, each_once, exact, tree, without_position};
use hero_store::{AwayJob, RunnerJob};

/// Maximum number of jobs of a message.
const MAX_JOBS: usize = 64;
/// Maximum number of retries of a job.
const MOST_RETRIES: u32 = 255;

/// A job in a message. Unknown fields are ignored.
#[derive(Debug, Deserialize)]
#[serde(expecting = "a job: an object with a script")]
struct JobMessage {
    #[serde(default)]
    id: u32,
    script: String,
    #[serde(default)]
    script_type: ScriptType,
    #[serde(default)]
    timeout: Option<Seconds>,
    #[serde(default)]
    retries: u32,
    #[serde(default, deserialize_with = "each_once")]
    env_vars: BTreeMap<String, String>,
    #[serde(default)]
    prerequisites: Vec<Json>,
    #[serde(default, alias = "dependents")]
    dependends: Vec<u32>,
    #[serde(default)]
    args: Option<Json>,
    #[serde(default)]
    inputs: Option<Vec<Input>>,
}

/// Parses the jobs of a message from this caller. They are subject to the same rules as jobs that clients create.
/// `number` is for a job without one, and `longest_script` is the maximum length of a script of a built-in type, in
/// bytes.
pub(super) fn read(text: &str, caller: u32, number: u32, longest_script: usize) -> Result<Vec<RunnerJob>, String> {
    let text = exact(text, "job").map_err(|beyond| beyond.to_string())?;
    let no_list = |error: serde_json::Error| format!("job: is no list of jobs: {}", without_position(&error.to_string()));
    let mut all: Vec<JobMessage> = serde_json::from_str(&text).map_err(no_list)?;
    if all.is_empty() || all.len() > MAX_JOBS {
        return Err(format!("job: a message of type job has 1 to {MAX_JOBS} jobs, not {}", all.len()));
    }
    let at = |at: usize| move |why: String| format!("job[{at}]: {why}");
    for told in all.iter_mut().filter(|told| told.id == 0) {
        told.id = number;
    }
    let numbers: Vec<u32> = all.iter().map(|told| told.id).collect();
    let mut waits_for = Vec::with_capacity(all.len());
    for (place, told) in all.iter().enumerate() {
        waits_for.push(relations::prerequisites(&told.prerequisites, caller).map_err(at(place))?);
        relations::check_number("dependends", told.dependends.len()).map_err(at(place))?;
    }
    for (place, told) in all.iter().enumerate() {
        relations::have_wait(&told.dependends, told.id, &numbers, &mut waits_for).map_err(at(place))?;
    }
    relations::check(&numbers, &waits_for)?;
    let jobs = all.into_iter().zip(waits_for).enumerate();
    jobs.map(|(place, (told, waits_for))| of(told, &waits_for, caller, longest_script).map_err(at(place))).collect()
}

fn of(told: JobMessage, waits_for: &[u32], caller: u32, longest_script: usize) -> Result<RunnerJob, String> {
    if told.script.is_empty() {
        return Err("has no script".into());
    }
    if told.retries > MOST_RETRIES {
        return Err(format!("retries: {} are more than {MOST_RETRIES}", told.retries));
    }
    let timeout = told.timeout.map_or_else(String::new, |timeout| timeout.to_string());
    let JobMessage { script, script_type, env_vars, timeout: given, .. } = told;
    let spec = JobSpec { script, script_type, env_vars, timeout: given, ..JobSpec::default() };
    check_bounds(&spec, longest_script).map_err(|error| error.to_string())?;
    let names: Vec<String> = waits_for.iter().map(|number| format!("job:{caller}:{number}")).collect();
    let mut fields = vec![
        ("script", spec.script),
        ("script_type", spec.script_type.to_string()),
        ("timeout", timeout),
        ("retries", told.retries.to_string()),
        ("env_vars", written(&spec.env_vars)),
        ("prerequisites", written(&names)),
        ("dependends", written(&told.dependends)),
    ];
    if let Some(args) = told.args {
        fields.push(("args", args.as_str().to_owned()));
    }
    if let Some(inputs) = told.inputs {
        fields.push(("inputs", written(&inputs)));
    }
    Ok(RunnerJob { caller, number: told.id, script_type: spec.script_type, fields })
}

fn written<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).expect("texts, numbers and JSON can be written")
}

/// Writes a job for another node as a JSON list with one job. It has no retries there, because its own context retries
/// it.
pub(super) fn write(job: &AwayJob, inputs: &[Input], caller: u32, number: u32, target: ContextId) -> Result<String, String> {
    let mut told = Map::new();
    let mut add = |name: &str, value: Value| drop(told.insert(name.to_owned(), value));
    add("id", json!(job.number.unwrap_or(number)));
    add("caller_id", json!(caller));
    add("context_id", json!(target));
    add("script", json!(job.script));
    add("script_type", json!(job.script_type));
    add("timeout", job.timeout.map_or(Value::Null, Value::from));
    add("retries", json!(0));
    let env = job.env_vars.as_deref().map(tree).transpose().map_err(|error| format!("env_vars: is no JSON: {error}"))?;
    add("env_vars", env.filter(|env| !env.is_null()).unwrap_or(json!({})));
    add("prerequisites", json!([]));
    add("dependends", json!([]));
    let mut text = written(&told);
    text.pop();
    // These can be any JSON, so they are inserted unchanged.
    if let Some(args) = &job.args {
        text.push_str(&format!(",\"args\":{args}"));
    }
    if !inputs.is_empty() {
        text.push_str(&format!(",\"inputs\":{}", written(&inputs)));
    }
    Ok(format!("[{text}}}]"))
}

#[cfg(test)]
mod tests {
    use hero_model::MARK;

    use super::*;

    #[test]
    fn env_vars_that_look_like_json_in_a_text_are_sent_as_they_are() {
        let nested = (0..60).fold("1".to_owned(), |inner, _| {
            let inner = inner.replace('\\', "\\u005c").replace('"', "\\u0022");
            format!("{}{{\"{MARK}\":\"{inner}\"}}{}", "[".repeat(99), "]".repeat(99))
        });
        let env = serde_json::to_string(&BTreeMap::from([(MARK, nested)])).unwrap();
        let script_type = "osis".parse().unwrap();
        let job = AwayJob { script: "1".into(), script_type, args: None, env_vars: Some(env.clone()), timeout: None, number: None };
        let text = write(&job, &[], 1, 2, ContextId(0)).unwrap();
        assert!(text.contains(&format!("\"env_vars\":{env}")));
    }

    fn of_one(fields: &str) -> Result<Vec<(&'static str, String)>, String> {
        read(&format!(r#"[{{"script":"1",{fields}}}]"#), 7, 900, 1000).map(|mut jobs| jobs.remove(0).fields)
    }

    #[test]
    fn whole_numbers_stay_what_they_are_or_are_refused() {
        assert!(of_one(r#""args":{"n":[-0,9223372036854775807]}"#).unwrap().contains(&("args", r#"{"n":[0,9223372036854775807]}"#.into())));
        let error = of_one(r#""args":{"n":99999999999999999999}"#).unwrap_err();
        assert!(error.starts_with("job[0].args.n is 99999999999999999999, beyond the integers of scripts"), "{error}");
    }

    #[test]
    fn a_variable_that_stands_twice_is_refused() {
        let error = of_one(r#""env_vars":{"K":"a","K":"b"}"#).unwrap_err();
        assert_eq!(error, r#"job: is no list of jobs: the name "K" stands there twice"#);
    }

    #[test]
    fn a_timeout_may_have_a_unit_and_a_wrong_one_is_told_without_a_place_that_nobody_saw() {
        for (given, written) in [("300", "300"), ("0.25", "0.25"), (r#""5m""#, "300"), (r#""250ms""#, "0.25")] {
            assert!(of_one(&format!(r#""timeout":{given}"#)).unwrap().contains(&("timeout", written.into())), "{given}");
        }
        for given in ["0", "-1", "1e300", r#""5""#, r#""soon""#, "[]"] {
            let error = of_one(&format!(r#""timeout":{given}"#)).unwrap_err();
            assert!(!error.contains(" at line "), "{error}");
        }
    }
}
