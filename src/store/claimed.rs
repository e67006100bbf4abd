use super::codec::{Text, json};
use crate::model::{JobId, JobSpec, Timestamp};

/// A job that was taken. Its attempt has begun, and it belongs to this server until its lease is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The actor it was taken for, by its number among those of the turn, from 0.
    pub actor_index: usize,
    /// Whether only that actor may run it.
    pub owned: bool,
    /// The job.
    pub job: JobId,
    /// The number of the attempt, from 1. One that was given back left its number to the next.
    pub attempt: u32,
    /// Which of all times that the job was taken this is: with the server, what tells this run from every other.
    pub claim: u32,
    /// When it was taken.
    pub started_at: Timestamp,
    /// The script, if the hash has one.
    pub script: Option<String>,
    /// The arguments as JSON.
    pub args: Option<String>,
    /// The environment as a JSON object.
    pub env_vars: Option<String>,
    /// The most seconds the attempt may take.
    pub timeout: Option<String>,
    /// Who created it.
    pub caller_id: Option<String>,
    /// Where its log file is to be.
    pub log_path: Option<String>,
    /// Seconds before the second attempt.
    pub retry_backoff: Option<f64>,
    /// How many attempts failed.
    pub failures: u32,
    /// When it was put into the queue.
    pub queued_at: Option<Timestamp>,
    /// Whether it may run beside other jobs of its actor.
    pub concurrent: bool,
}

impl Claimed {
    /// A job that started in the call that stored it, for the pool that had room for it.
    pub(super) fn from_start(id: &JobId, spec: &JobSpec, actor_index: usize, started_at: Timestamp) -> Self {
        Self {
            actor_index,
            owned: false,
            job: id.clone(),
            attempt: 1,
            claim: 1,
            started_at,
            script: Some(spec.script.clone()),
            args: spec.args.as_ref().map(|args| args.as_str().to_owned()),
            env_vars: (!spec.env_vars.is_empty()).then(|| json(&spec.env_vars)),
            timeout: spec.timeout.map(|timeout| timeout.to_string()),
            caller_id: spec.caller_id.clone(),
            log_path: spec.log_path.clone().filter(|path| !path.is_empty()),
            retry_backoff: spec.retry_backoff.map(|backoff| backoff.duration().as_secs_f64()),
            failures: 0,
            queued_at: Some(started_at),
            concurrent: spec.concurrent,
        }
    }

    /// A job that a turn took, from its answer: first what `turn.lua` says of the claim, then the fields of the hash that it calls `GIVEN`.
    pub(super) fn from_turn(values: Vec<Text>, started_at: Timestamp) -> Option<Self> {
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or_default();
        Some(Self {
            actor_index: next().parse::<usize>()?.checked_sub(1)?,
            owned: next().0.as_deref() == Some("1"),
            job: next().parse()?,
            attempt: next().parse()?,
            claim: next().parse()?,
            started_at,
            script: next().0,
            args: next().some(),
            env_vars: next().some(),
            timeout: next().some(),
            caller_id: next().some(),
            log_path: next().some(),
            retry_backoff: next().parse(),
            failures: next().parse().unwrap_or(0),
            queued_at: next().parse().or(next().parse()),
            concurrent: next().0.as_deref() == Some("true"),
        })
    }
}
