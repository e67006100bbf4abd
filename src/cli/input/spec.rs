use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::arguments::ArgumentArgs;
use super::choices::{Types, one_of};
use super::environment::EnvironmentArgs;
use super::language;
use super::pair::{once, pair};
use crate::cli::output;
use crate::engine::Program;
use crate::model::{ContextId, JobId, JobSpec, Name, Priority, ScriptType, Seconds, Timestamp, parse_time};

/// The options of every job besides its script, also of jobs made by a schedule. Each is named as its field, so that
/// messages about the field can be translated.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct SpecArgs {
    #[arg(long = "type", value_name = "TYPE", value_parser = Types, hide_possible_values = true, help = help_of_type())]
    script_type: Option<ScriptType>,
    #[command(flatten)]
    arguments: ArgumentArgs,
    /// The context of the job
    #[arg(long = "context", value_name = "N", default_value_t = 0)]
    pub(in crate::cli) context_id: u32,
    /// The caller for whom the job runs
    #[arg(long = "caller", value_name = "NAME")]
    caller_id: Option<String>,
    /// Run the job only on actors of this group
    #[arg(long, value_name = "GROUP")]
    group: Option<Name>,
    /// Run the job only on the actor with this number
    #[arg(long, value_name = "N")]
    instance: Option<u32>,
    /// The priority: urgent, normal or low, or its number: 0, 1, 2
    #[arg(long, value_name = "PRIORITY", value_parser = one_of(&PRIORITIES, priority), hide_possible_values = true)]
    priority: Option<Priority>,
    /// Timeout of one attempt (90, 30s, 5m) [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    timeout: Option<Seconds>,
    /// Number of extra attempts after an error or a timeout
    #[arg(long, value_name = "N", default_value_t = 0)]
    retries: u32,
    /// Time to wait before the second attempt; doubles each time [default: 1s]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    retry_backoff: Option<Seconds>,
    /// Allow the job to run concurrently with other jobs of its actor, if that is a sal actor
    #[arg(long)]
    concurrent: bool,
    #[command(flatten)]
    environment: EnvironmentArgs,
    /// The path of the log file, below the server's log directory
    #[arg(long, value_name = "PATH")]
    log_path: Option<String>,
    /// Time to keep the job after its end
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    retention: Option<Seconds>,
    /// A name to show
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A label to find the job by
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = pair)]
    labels: Vec<(String, String)>,
    /// The worker of the dispatcher protocol
    #[arg(long, value_name = "NAME")]
    worker_id: Option<Name>,
    /// An identifier of your own, stored unchanged
    #[arg(long, value_name = "ID")]
    client_rpc_id: Option<String>,
}

fn help_of_type() -> String {
    let others: Vec<&str> = Program::names().into_iter().filter(|name| !ScriptType::BUILT_IN.contains(name)).collect();
    format!(
        "The script type: osis, which runs the jobs of an actor one after another, sal, which can run some concurrently \
         (--concurrent), {}, or a configured one [default: by the name of the file: {}; else osis]",
        others.join(", "),
        language::by_name(),
    )
}

impl SpecArgs {
    /// Whether a script type is given.
    pub(in crate::cli) const fn names_type(&self) -> bool {
        self.script_type.is_some()
    }

    /// Warns of entries of `args` that may have been meant as text.
    pub(in crate::cli) fn warn_of_json(&self, as_json: bool) {
        self.arguments.warn_of_json(as_json);
    }

    /// Builds the job of these options and this script. `by_name` is its type if none is given.
    pub(in crate::cli) fn spec(&self, script: String, by_name: Option<ScriptType>) -> anyhow::Result<JobSpec> {
        let this = self.clone();
        Ok(JobSpec {
            script,
            script_type: this.script_type.or(by_name).unwrap_or_default(),
            args: this.arguments.value()?.map(Into::into),
            context_id: ContextId(this.context_id),
            caller_id: this.caller_id,
            group: this.group,
            instance: this.instance,
            priority: this.priority.unwrap_or_default(),
            timeout: this.timeout,
            retries: this.retries,
            retry_backoff: this.retry_backoff,
            concurrent: this.concurrent,
            env_vars: this.environment.variables()?,
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

/// The options of a single job that jobs of a schedule do not have.
#[derive(Debug, Clone, Args)]
pub(in crate::cli) struct SingleArgs {
    /// A job that must finish first
    #[arg(long = "after", value_name = "JOB_ID")]
    prerequisites: Vec<JobId>,
    /// The parent job
    #[arg(long = "parent", value_name = "JOB_ID")]
    parent_id: Option<JobId>,
    /// The job that must end first, with all its descendants
    #[arg(long = "predecessor", value_name = "JOB_ID")]
    predecessor_id: Option<JobId>,
    /// A job that waits for this one
    #[arg(long = "dependent", value_name = "JOB_ID")]
    dependents: Vec<JobId>,
    /// The earliest time to run (RFC 3339, or such as 30s from now)
    #[arg(long, value_name = "TIME", value_parser = future)]
    run_at: Option<Timestamp>,
    /// For 24 hours, the same key with the same parameters returns the same job or its result
    #[arg(long, short = 'k', value_name = "KEY")]
    idempotency_key: Option<String>,
    /// The id for the new job
    #[arg(long, value_name = "JOB_ID")]
    id: Option<JobId>,
}

impl SingleArgs {
    /// Returns the job with these options added.
    pub(in crate::cli) fn on(&self, job: JobSpec) -> JobSpec {
        let this = self.clone();
        JobSpec {
            prerequisites: this.prerequisites,
            parent_id: this.parent_id,
            predecessor_id: this.predecessor_id,
            dependents: this.dependents,
            run_at: this.run_at,
            idempotency_key: this.idempotency_key,
            job_id: this.id,
            ..job
        }
    }
}

pub(in crate::cli) fn seconds(text: &str) -> Result<Seconds, String> {
    parse_time(text).map(Seconds::from)
}

/// The words for priorities, and their numbers.
const PRIORITIES: [&str; 6] = ["urgent", "normal", "low", "0", "1", "2"];

fn priority(text: &str) -> Result<Priority, String> {
    Ok(match text {
        "urgent" | "0" => Priority::Urgent,
        "normal" | "1" => Priority::Normal,
        "low" | "2" => Priority::Low,
        _ => return Err(format!("a priority is one of {}", PRIORITIES.join(", "))),
    })
}

/// Returns the word for a priority, which `--priority` accepts.
pub(in crate::cli) const fn priority_word(priority: Priority) -> &'static str {
    match priority {
        Priority::Urgent => "urgent",
        Priority::Normal => "normal",
        Priority::Low => "low",
    }
}

/// Returns the value of a job's field for people.
pub(in crate::cli) fn field_text(name: &str, value: &Value, of_job: Priority) -> anyhow::Result<String> {
    Ok(match value {
        Value::String(text) => text.clone(),
        // As `--priority` takes it.
        _ if name == "priority" => priority_word(of_job).to_owned(),
        value => output::json_text(value)?,
    })
}

/// Parses a time in the future.
pub(in crate::cli) fn future(text: &str) -> Result<Timestamp, String> {
    let length = text.strip_suffix("from now").or_else(|| text.strip_prefix("in ")).unwrap_or(text);
    moment(text, length).map(|moment| moment.unwrap_or_else(|length| Timestamp::local().plus(length)))
}

/// Parses a time in the past.
pub(in crate::cli) fn past(text: &str) -> Result<Timestamp, String> {
    let length = text.strip_suffix("ago").unwrap_or(text);
    moment(text, length).map(|moment| moment.unwrap_or_else(|length| Timestamp::local().minus(length)))
}

/// Parses a time: RFC 3339, or a duration from now.
fn moment(text: &str, length: &str) -> Result<Result<Timestamp, Duration>, String> {
    match text.parse() {
        Ok(time) => Ok(Ok(time)),
        Err(error) => parse_time(length.trim()).map(Err).map_err(|_| format!("{error}, or such as 30s, 5m, 24h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_a_word_or_a_number() {
        for (texts, meant) in [(["urgent", "0"], Priority::Urgent), (["normal", "1"], Priority::Normal), (["low", "2"], Priority::Low)] {
            assert!(texts.iter().all(|text| priority(text) == Ok(meant)) && priority_word(meant) == texts[0]);
        }
        assert!(priority("high").is_err() && priority("3").is_err());
    }

    #[test]
    fn a_moment_is_said_as_the_help_says_it() {
        for text in ["3s", "3s from now", "in 3s", "3 s from now", "1m from now"] {
            assert!(future(text).unwrap() > Timestamp::local(), "{text}");
        }
        for text in ["1h", "1h ago", "2 d ago"] {
            assert!(past(text).unwrap() < Timestamp::local(), "{text}");
        }
        let known = "2026-11-21T10:00:00.000Z";
        assert!([future(known), past(known)].into_iter().all(|time| time.unwrap().to_string() == known));
        for wrong in ["", "soon", "from now", "3s ago", "in", "3s from", "-3s"] {
            assert!(future(wrong).is_err(), "{wrong}");
        }
        assert!(past("3s from now").is_err());
    }
}
