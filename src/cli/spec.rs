use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde_json::{Map, Value};

use super::choices::{Types, one_of};
use super::exit::Usage;
use super::settings::parse_time;
use crate::model::{ContextId, JobId, JobSpec, Name, Priority, ScriptType, Seconds, Timestamp, exact, plain_zeros, tree};

/// What every job can be given besides its script, also each of those that a schedule makes.
#[derive(Debug, Clone, Args)]
pub(super) struct SpecArgs {
    /// Which kind of actor runs it: osis, which runs its jobs one after another, sal, which can run some side by side (--concurrent), python, v, or one of yours
    /// [default: by the name of the file: python for .py, v for .v, bash for .sh, node for .js; else osis]
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true)]
    script_type: Option<ScriptType>,
    /// One entry of the script's `args`; JSON if it reads as such, else text
    #[arg(long = "arg", value_name = "KEY=VALUE", value_parser = pair)]
    arg: Vec<(String, String)>,
    /// The script's `args` as a whole
    #[arg(long, value_name = "JSON", value_parser = json)]
    args: Option<Value>,
    /// The context it belongs to
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) context: u32,
    /// Who it runs for
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only actors of this group run it
    #[arg(long, value_name = "GROUP")]
    group: Option<Name>,
    /// Only the actor with this number runs it
    #[arg(long, value_name = "N")]
    instance: Option<u32>,
    /// 0 urgent, 1 normal, 2 low
    #[arg(long, value_name = "N", value_parser = one_of(&["0", "1", "2"], priority), hide_possible_values = true)]
    priority: Option<Priority>,
    /// The longest one attempt may take (90, 30s, 5m) [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    timeout: Option<Seconds>,
    /// Extra attempts after an error or a timeout
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
    /// How long to wait before the second attempt; doubles each time [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    retry_backoff: Option<Seconds>,
    /// It may run beside other jobs of its actor, if that is a sal actor
    #[arg(long)]
    concurrent: bool,
    /// One entry of the script's `env`; the value is masked in logs, unless `HERO_PLAIN` names it
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = pair)]
    env_vars: Vec<(String, String)>,
    /// Where to write its log file, below the server's log directory
    #[arg(long, value_name = "PATH")]
    log_path: Option<String>,
    /// How long to keep the job after its end
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    retention: Option<Seconds>,
    /// A name for people
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A label to find it by
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// The worker of the dispatcher protocol
    #[arg(long, value_name = "NAME")]
    worker_id: Option<Name>,
    /// An identifier of your own, kept as it is
    #[arg(long, value_name = "ID")]
    client_rpc_id: Option<String>,
}

impl SpecArgs {
    /// Whether the type of the script is named.
    pub(super) const fn names_type(&self) -> bool {
        self.script_type.is_some()
    }

    /// The job these arguments and this script make, whose type is `by_name` if they name none.
    pub(super) fn spec(&self, script: String, by_name: Option<ScriptType>) -> anyhow::Result<JobSpec> {
        let this = self.clone();
        Ok(JobSpec {
            script,
            script_type: this.script_type.or(by_name).unwrap_or_default(),
            args: arguments(this.args, this.arg)?.map(Into::into),
            context_id: ContextId(this.context),
            caller_id: this.caller,
            group: this.group,
            instance: this.instance,
            priority: this.priority.unwrap_or_default(),
            timeout: this.timeout,
            retries: this.retries,
            retry_backoff: this.retry_backoff,
            concurrent: this.concurrent,
            env_vars: once("--env", this.env_vars)?.into_iter().collect(),
            log_path: this.log_path,
            retention: this.retention,
            name: this.name,
            labels: once("--label", this.labels)?.into_iter().collect::<BTreeMap<_, _>>(),
            worker_id: this.worker_id,
            client_rpc_id: this.client_rpc_id,
            ..JobSpec::default()
        })
    }
}

/// What only a single job can be given, and not those of a schedule.
#[derive(Debug, Clone, Args)]
pub(super) struct SingleArgs {
    /// A job that must finish first
    #[arg(long = "after", value_name = "JOB_ID")]
    prerequisites: Vec<JobId>,
    /// The job whose child it is
    #[arg(long = "parent", value_name = "JOB_ID")]
    parent_id: Option<JobId>,
    /// The job that must end first, with all its descendants
    #[arg(long = "predecessor", value_name = "JOB_ID")]
    predecessor_id: Option<JobId>,
    /// A job that waits for this one
    #[arg(long = "dependent", value_name = "JOB_ID")]
    dependents: Vec<JobId>,
    /// Not before this time (RFC 3339, or such as 30s from now)
    #[arg(long, value_name = "TIME", value_parser = future)]
    run_at: Option<Timestamp>,
    /// The same key with the same parameters gives the same job or its result, for 24 hours
    #[arg(long, short = 'k', value_name = "KEY")]
    idempotency_key: Option<String>,
    /// The id the job shall have
    #[arg(long = "id", value_name = "JOB_ID")]
    job_id: Option<JobId>,
}

impl SingleArgs {
    /// The job with these as well.
    pub(super) fn on(&self, job: JobSpec) -> JobSpec {
        let this = self.clone();
        JobSpec {
            prerequisites: this.prerequisites,
            parent_id: this.parent_id,
            predecessor_id: this.predecessor_id,
            dependents: this.dependents,
            run_at: this.run_at,
            idempotency_key: this.idempotency_key,
            job_id: this.job_id,
            ..job
        }
    }
}

/// Puts `--args` and all `--arg` together.
fn arguments(whole: Option<Value>, entries: Vec<(String, String)>) -> anyhow::Result<Option<Value>> {
    if entries.is_empty() {
        return Ok(whole);
    }
    let mut map = match whole {
        None => Map::new(),
        Some(Value::Object(map)) => map,
        Some(_) => return Err(Usage("--arg adds to an object, but --args is something else; use one of them".to_owned()).into()),
    };
    for (name, text) in once("--arg", entries)? {
        // What is no JSON is a text.
        let value = match tree(&plain_zeros(&text)) {
            Ok(value) => exact(&text, "it").map(|_| value).map_err(|reason| Usage(format!("--arg {name}: {reason}")))?,
            Err(_) => Value::String(text),
        };
        map.insert(name, value);
    }
    Ok(Some(map.into()))
}

/// Entries of which each has a name of its own: of two, one would be lost without a word.
fn once(option: &str, entries: Vec<(String, String)>) -> Result<Vec<(String, String)>, Usage> {
    let mut names = BTreeSet::new();
    match entries.iter().find(|(name, _)| !names.insert(name)) {
        Some((name, _)) => Err(Usage(format!("{option} {name} is given twice; give it once"))),
        None => Ok(entries),
    }
}

pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("a name, = and a value are expected".to_owned()),
    }
}

pub(super) fn seconds(text: &str) -> Result<Seconds, String> {
    parse_time(text).map(Seconds::from)
}

fn json(text: &str) -> Result<Value, String> {
    let value = tree(&plain_zeros(text)).map_err(|error| format!("not JSON: {error}"))?;
    exact(text, "it").map(|_| value).map_err(|beyond| beyond.to_string())
}

fn priority(text: &str) -> Result<Priority, String> {
    text.parse()
        .map_err(|_| ())
        .and_then(|number: u8| Priority::try_from(number).map_err(|_| ()))
        .map_err(|()| "a priority is 0 (urgent), 1 (normal) or 2 (low)".to_owned())
}

pub(super) fn future(text: &str) -> Result<Timestamp, String> {
    moment(text, Timestamp::plus)
}

/// A point in time: RFC 3339, or a length of time from now in the direction of `from_now`.
pub(super) fn moment(text: &str, from_now: fn(Timestamp, std::time::Duration) -> Timestamp) -> Result<Timestamp, String> {
    text.parse().or_else(|error| {
        parse_time(text).map(|length| from_now(Timestamp::local(), length)).map_err(|_| format!("{error}, or such as 30s, 5m, 24h"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_argument_is_json_if_it_reads_as_such() {
        let given = [("n", "3"), ("list", "[1]"), ("name", "Ada"), ("zip", "\"0123\"")].map(|(k, v)| (k.to_owned(), v.to_owned()));
        let args = arguments(Some(json!({ "n": 1, "m": 2 })), given.into()).unwrap().unwrap();
        assert_eq!(args, json!({ "n": 3, "m": 2, "list": [1], "name": "Ada", "zip": "0123" }));
        let args = arguments(Some(super::json("[-0]").unwrap()), Vec::new()).unwrap().unwrap();
        assert_eq!(args, json!([0]));
        assert_eq!(arguments(None, vec![("n".to_owned(), "-0".to_owned())]).unwrap().unwrap(), json!({ "n": 0 }));
        // JSON in a text is none, whatever serde_json thinks of its name.
        let marked = r#"{"$serde_json::private::RawValue":"[1]"}"#;
        let args = arguments(Some(super::json(marked).unwrap()), vec![("a".to_owned(), marked.to_owned())]).unwrap().unwrap();
        assert_eq!(args.to_string(), r#"{"$serde_json::private::RawValue":"[1]","a":{"$serde_json::private::RawValue":"[1]"}}"#);
        let twice = arguments(None, [("a", "1"), ("a", "2")].map(|(k, v)| (k.to_owned(), v.to_owned())).into());
        assert!(twice.unwrap_err().to_string().contains("--arg a is given twice"));
        assert!(arguments(Some(json!([1])), vec![("a".to_owned(), "b".to_owned())]).is_err());
    }
}
