use super::speculative_run::SpeculativeRun;
use crate::value::{Text, json};
use hero_model::{JobId, JobSpec, Seconds, Timestamp};

/// A job that was fetched. Its attempt has begun, and it belongs to this server until its lease ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Claimed {
    /// The index of the actor that it was fetched for, among the actors of the fetch.
    pub actor_index: usize,
    /// Whether only that actor may run it.
    pub pinned: bool,
    /// The job.
    pub job: JobId,
    /// The number of the attempt, from 1. If a job is requeued, its next attempt has the same number.
    pub attempt: u32,
    /// The number of the claim. Together with the server it identifies this run.
    pub claim: u32,
    /// The time of the fetch.
    pub started_at: Timestamp,
    /// The script, if the hash has one.
    pub script: Option<String>,
    /// The arguments as JSON.
    pub args: Option<String>,
    /// The environment as a JSON object.
    pub env_vars: Option<String>,
    /// The time limit of the attempt, or an error about the value that a foreign client wrote.
    pub timeout: Result<Option<Seconds>, String>,
    /// The caller that created it.
    pub caller_id: Option<String>,
    /// The path of its log file.
    pub log_path: Option<String>,
    /// The wait before the second attempt, if the hash has a readable one.
    pub retry_backoff: Option<Seconds>,
    /// The number of failed attempts.
    pub failures: u32,
    /// The time when it was queued.
    pub queued_at: Option<Timestamp>,
    /// Whether it may run beside other jobs of its actor.
    pub concurrent: bool,
    /// Its run, if it began before the job is stored.
    pub speculation: Option<SpeculativeRun>,
}

impl Claimed {
    /// The number of the first claim of a new job.
    pub(crate) const FIRST_CLAIM: u32 = 1;

    /// The fields of the hash that a fetch returns for a job; `jobs.GIVEN` in the library.
    #[doc(hidden)]
    pub const GIVEN: [&str; 11] = [
        "created_at",
        "script",
        "args",
        "env_vars",
        "timeout",
        "caller_id",
        "log_path",
        "queued_at",
        "concurrent",
        "retry_backoff",
        "failures",
    ];

    /// Returns a job that started in the call that stored it, for the pool that had room for it.
    pub(crate) fn from_start(id: &JobId, spec: &JobSpec, actor_index: usize, started_at: Timestamp) -> Self {
        Self {
            actor_index,
            pinned: false,
            job: id.clone(),
            attempt: 1,
            claim: Self::FIRST_CLAIM,
            started_at,
            script: Some(spec.script.clone()),
            args: spec.args.as_ref().map(|args| args.as_str().to_owned()),
            env_vars: (!spec.env_vars.is_empty()).then(|| json(&spec.env_vars)),
            timeout: Ok(spec.timeout),
            caller_id: spec.caller_id.clone(),
            log_path: spec.log_path.clone().filter(|path| !path.is_empty()),
            retry_backoff: spec.retry_backoff,
            failures: 0,
            queued_at: Some(started_at),
            concurrent: spec.concurrent,
            speculation: None,
        }
    }

    /// Reads a job from the answer to a fetch: first the values of the claim from `fetch.lua`, then the fields of the hash.
    pub(crate) fn from_fetch(values: Vec<Text>, started_at: Timestamp) -> Option<Self> {
        let mut values = values.into_iter();
        let mut next = || values.next().unwrap_or_default();
        let [actor, pinned, job, attempt, claim] = std::array::from_fn(|_| next());
        let mut fields = Self::GIVEN.map(|name| (name, next()));
        let mut given = |name: &str| {
            let field = fields.iter_mut().find(|(field, _)| *field == name);
            field.map_or_else(|| unreachable!("{name} is not given"), |(_, value)| std::mem::take(value))
        };
        Some(Self {
            actor_index: actor.parse::<usize>()?.checked_sub(1)?,
            pinned: pinned.0.as_deref() == Some("1"),
            job: job.parse()?,
            attempt: attempt.parse()?,
            claim: claim.parse()?,
            started_at,
            script: given("script").0,
            args: given("args").some(),
            env_vars: given("env_vars").some(),
            timeout: given("timeout").some().as_deref().map(timeout).transpose(),
            caller_id: given("caller_id").some(),
            log_path: given("log_path").some(),
            retry_backoff: given("retry_backoff").parse(),
            failures: given("failures").parse().unwrap_or(0),
            queued_at: given("queued_at").parse().or_else(|| given("created_at").parse()),
            concurrent: given("concurrent").0.as_deref() == Some("true"),
            speculation: None,
        })
    }
}

fn timeout(text: &str) -> Result<Seconds, String> {
    let timeout = text.parse().ok().filter(|timeout: &Seconds| !timeout.duration().is_zero());
    timeout.ok_or_else(|| format!("timeout {text:?} is not a number of seconds above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a job whose hash has only these fields.
    fn claimed(timeout: &str, retry_backoff: &str) -> Claimed {
        let id = JobId::random();
        let values = ["1", "", id.as_str(), "1", "1", "", "1", "", "", timeout, "", "", "", "", retry_backoff, ""];
        Claimed::from_fetch(values.map(|text| Text(Some(text.to_owned()))).into(), Timestamp::local()).unwrap()
    }

    #[test]
    fn lengths_of_time_are_read_as_the_wire_takes_them() {
        let most = Seconds::MAX.to_string();
        for (text, seconds) in [("1.5", 1.5), ("1500000000", 1.5e9), (&*most, Seconds::MAX)] {
            let job = claimed(text, text);
            assert_eq!((job.timeout, job.retry_backoff), (Ok(Seconds::new(seconds)), Seconds::new(seconds)), "{text}");
        }
        assert_eq!((claimed("", "").timeout, claimed("", "0").retry_backoff), (Ok(None), Seconds::new(0.0)));
    }

    #[test]
    fn a_timeout_that_cannot_be_read_is_told_and_such_a_wait_is_as_if_it_were_not_there() {
        for text in ["soon", "-1", "nan", "inf", "1e300", "3155760001"] {
            let job = claimed(text, text);
            assert_eq!(job.timeout, Err(format!("timeout {text:?} is not a number of seconds above 0")));
            assert_eq!(job.retry_backoff, None, "{text}");
        }
        assert!(claimed("0", "").timeout.is_err());
    }
}
