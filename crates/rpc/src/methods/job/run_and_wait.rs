use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use super::signed;
use super::waited::Waited;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method, Within};
use crate::methods::{Wait, sample, tag};
use crate::params::{FromParameters, GivenParams, ParamsError};
use crate::session::act::{Act, object};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{JobId, JobResult, JobSpec};

/// Creates a job, starts it, waits for its end and returns its result.
///
/// A job that ends in error is a JSON-RPC error. When the wait runs out, or the connection closes, the job continues;
/// `wait_job` waits for it again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunAndWait {
    #[serde(flatten)]
    spec: JobSpec,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(default)]
    wait_timeout: Wait,
}

impl Method for RunAndWait {
    const NAME: &'static str = "run_and_wait";
    const LEADING: &'static [&'static str] = &["script", "script_type", "args", "wait_timeout"];
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::RunsWithKey;
    const ERRORS: &'static [Code] = &[
        Code::JobNotFound,
        Code::State,
        Code::UnknownScriptType,
        Code::QueueFull,
        Code::TooLarge,
        Code::StoreUnavailable,
        Code::IdempotencyReused,
        Code::NotFound,
        Code::JobFailed,
        Code::WaitRanOut,
        Code::JobStopped,
    ];
    const WAITS: bool = true;
    const RESULT: &'static str = "The result of the job.";
    type Output = JobResult;

    fn examples() -> Vec<Example<Self, JobResult>> {
        let spec = JobSpec { script: "40 + 2".into(), ..JobSpec::default() };
        let job_id = "e5f40312-6d88-4c3d-9e85-405f6e7d8c9b".parse().expect("a UUID");
        let result = JobResult { job_id, ..sample::result() };
        vec![Example { name: "answer", params: Self { spec, wait_timeout: Wait::default() }, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewJobs(self.spec.context_id, vec![&self.spec])
    }

    async fn call(self, app: &App, session: &Session) -> Result<JobResult, Error> {
        self.run(app, session, false, |_| {}).await
    }

    async fn call_within(self, app: &App, session: &Session, within: Within<'_>) -> Result<JobResult, Error> {
        let (in_batch, act) = (within.batch.is_some(), within.act);
        // The audited work ends before the wait.
        self.run(app, session, in_batch, |id| act.done(Some(object("job", id)))).await
    }

    async fn notify(self, app: &App, session: &Session, act: &mut Act) -> Result<(), Error> {
        let id = app.dispatcher.jobs().run(signed(self.spec, session)).await?;
        act.done(Some(object("job", &id)));
        Ok(())
    }
}

impl RunAndWait {
    /// Runs the job and waits for it. `stored` gets its id as soon as the job is stored.
    async fn run(self, app: &App, session: &Session, in_batch: bool, stored: impl FnOnce(&JobId) + Send) -> Result<JobResult, Error> {
        let (context, wait) = (self.spec.context_id, self.wait_timeout.duration());
        let deadline = Instant::now() + wait;
        let awaited = app.dispatcher.jobs().run_until_end(signed(self.spec, session), wait, stored).await?;
        Waited { context, deadline, in_batch }.result(awaited, app, session).await
    }
}

/// This is written by hand, because serde's `flatten` copies everything and cannot tell which fields are unknown.
impl FromParameters for RunAndWait {
    fn read(mut given: GivenParams<'_>) -> Result<Self, ParamsError> {
        let wait_timeout = given.take("wait_timeout")?.unwrap_or_default();
        Ok(Self { spec: given.rest()?, wait_timeout })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{openrpc, params};

    fn read(raw: &str) -> Result<RunAndWait, String> {
        let names = openrpc::parameter_names(RunAndWait::json_schema, RunAndWait::LEADING);
        params::parse(Some(raw), &names).map_err(|error| error.to_string())
    }

    #[test]
    fn the_wait_is_told_from_the_job() {
        let run = read(r#"{"wait_timeout":5,"script":"1","retries":2}"#).unwrap();
        assert_eq!((run.spec.script.as_str(), run.spec.retries, run.wait_timeout.duration().as_secs()), ("1", 2, 5));
        assert_eq!(read(r#"{"script":"1","wait_timeout":null}"#).unwrap().wait_timeout, Wait::default());
    }

    #[test]
    fn a_job_can_be_run_by_position() {
        let run = read(r#"["40 + 2"]"#).unwrap();
        assert_eq!((run.spec.script.as_str(), run.wait_timeout), ("40 + 2", Wait::default()));
        let run = read(r#"["1","sal",{"a":null},7]"#).unwrap();
        assert_eq!((run.spec.script_type.as_str(), run.wait_timeout.duration().as_secs()), ("sal", 7));
        assert_eq!(run.spec.args, Some(serde_json::json!({"a": null}).into()));
    }

    #[test]
    fn nothing_that_is_given_below_env_vars_is_repeated() {
        for (given, said) in [
            (r#"{"KEY":4711}"#, "`env_vars.KEY`: expected a text, but got a number"),
            (r#"{"KEY":-47.11}"#, "`env_vars.KEY`: expected a text, but got a number"),
            (r#"{"KEY":47114711471147114711}"#, "`env_vars.KEY`: expected a text, but got a number"),
            (r#"{"KEY":["4711"]}"#, "`env_vars.KEY`: expected a text, but got an array"),
            (r#""4711""#, "`env_vars`: expected an object, but got a text"),
        ] {
            let error = read(&format!(r#"{{"script":"1","env_vars":{given}}}"#)).unwrap_err();
            assert!(error.contains(said) && !error.contains("47"), "{given}: {error}");
        }
    }

    #[test]
    fn errors_name_parameters_of_the_job_and_of_the_wait() {
        for (raw, expected) in [
            (r#"{"script":"1","wait":1}"#, "unknown parameter `wait`; known: script, script_type"),
            (r#"{"script":"1","wait_timeout":"x"}"#, "parameter `wait_timeout`: \"x\" is not a length of time"),
            (r#"{"script":"1","wait_timeout":3601}"#, "parameter `wait_timeout`: 3601 s is longer than a call may wait (3600 s)"),
            (r#"{"script":"1","priority":3}"#, "parameter `priority`: a priority is 0 (urgent), 1 (normal) or 2 (low)"),
            (r#"{"script":"1","job_id":"x"}"#, "parameter `job_id`: \"x\" is not a UUID"),
            ("{}", "parameter `script` is missing"),
        ] {
            let error = read(raw).unwrap_err();
            assert!(error.starts_with(expected), "{raw}: {error}");
        }
    }
}
