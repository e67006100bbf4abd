//! Results: waited for, and looked at.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::{Wait, job, sample, tag};
use crate::act::{Act, object};
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::{AnswerReservations, Size};
use crate::method::{Example, Method, Within};
use crate::params::{Fault, FromParameters, Given};
use hero_jobs::dispatch::{self, Awaited};
use hero_model::{ContextId, JobId, JobResult, JobSpec};

/// Creates a job, starts it, waits for its end and gives its result.
///
/// A job that ends badly is an error. When the wait runs out the job goes on, and `wait_job` waits on. When the connection
/// closes the job goes on too.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunAndWait {
    #[serde(flatten)]
    spec: JobSpec,
    /// How many seconds to wait; 0 looks once.
    #[serde(default)]
    wait_timeout: Wait,
}

/// What waiting for a job can answer besides what starting it can.
const WAIT_ERRORS: &[Code] =
    &[Code::JobNotFound, Code::TooLarge, Code::StoreUnavailable, Code::NotFound, Code::JobFailed, Code::WaitRanOut, Code::JobStopped];

impl Method for RunAndWait {
    const NAME: &'static str = "run_and_wait";
    const LEADING: &'static [&'static str] = &["script", "script_type", "args", "wait_timeout"];
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
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
    const RESULT: &'static str = "What the job gave.";
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
        // The wait is no part of what is done.
        self.run(app, session, in_batch, |id| act.done(Some(object("job", id)))).await
    }

    async fn notify(self, app: &App, session: &Session, act: &mut Act) -> Result<(), Error> {
        let id = app.dispatcher.run(job::signed(self.spec, session)).await?;
        act.done(Some(object("job", &id)));
        Ok(())
    }
}

impl RunAndWait {
    /// Has the job run, and waits. `stored` is told its id as soon as it is there.
    async fn run(self, app: &App, session: &Session, in_batch: bool, stored: impl FnOnce(&JobId) + Send) -> Result<JobResult, Error> {
        let (context, wait) = (self.spec.context_id, self.wait_timeout.duration());
        let deadline = Instant::now() + wait;
        let awaited = app.dispatcher.run_until_end(job::signed(self.spec, session), wait, stored).await?;
        Waited { context, deadline, in_batch }.result(awaited, app, session).await
    }
}

/// A wait whose job has finished.
struct Waited {
    context: ContextId,
    deadline: Instant,
    in_batch: bool,
}

impl Waited {
    /// Gives its result. Many results may come at once, so a long one is read, or read again, when there is room for it.
    async fn result(self, mut awaited: Awaited, app: &App, session: &Session) -> Result<JobResult, Error> {
        let connection = session.connection();
        loop {
            let job_id = match awaited {
                Awaited::Whole(result) if connection.accepts(self.in_batch) => return Ok(result),
                Awaited::Whole(result) if result.output.len() <= KEPT => {
                    self.admit(Size::Small, app, session).await?;
                    return Ok(result);
                }
                Awaited::Whole(result) => result.job_id,
                Awaited::Long(job_id) => job_id,
            };
            let reservations = self.admit(Size::Medium, app, session).await?;
            if let Some(result) = self.read(&job_id, app).await? {
                return Ok(result);
            }
            // The job was run again meanwhile, so this waits as before, with nothing reserved.
            drop(reservations);
            let rest = self.deadline.saturating_duration_since(Instant::now());
            awaited = app.dispatcher.wait_until_end(self.context, &job_id, rest).await?;
        }
    }

    /// Waits until there is room. Within a batch the time is limited, because the other answers stay in memory meanwhile.
    async fn admit(&self, size: Size, app: &App, session: &Session) -> Result<AnswerReservations, Error> {
        let (admitted, time_limit) = (session.connection().admit(size, self.in_batch), app.details.limits.handler_timeout.duration());
        if self.in_batch {
            return tokio::time::timeout(time_limit, admitted).await.map_err(|_| Error::no_room());
        }
        Ok(admitted.await)
    }

    async fn read(&self, job_id: &JobId, app: &App) -> Result<Option<JobResult>, Error> {
        // It was there already, so a store that is slow or away for a moment must not be the end of the wait.
        let deadline = Instant::now() + app.details.limits.handler_timeout.duration();
        loop {
            match app.dispatcher.whole_within(self.context, job_id, app.details.limits.response_bytes as usize).await {
                Err(dispatch::Error::Store { source, .. }) if source.may_pass() && Instant::now() < deadline => {
                    tracing::debug!(error = %source, %job_id, "a result that found no room is read once more");
                    tokio::time::sleep(PAUSE).await;
                }
                result => return Ok(result?),
            }
        }
    }
}

/// How long an output may be that is kept while it waits for room. Longer ones are read again, because an address may have 8,192 waits.
const KEPT: usize = 8 * 1024;

/// The pause before a result that was dropped is read again.
const PAUSE: Duration = Duration::from_millis(100);

/// By hand, because serde's `flatten` copies everything and forgets which fields are unknown.
impl FromParameters for RunAndWait {
    fn read(mut given: Given<'_>) -> Result<Self, Fault> {
        let wait_timeout = given.take("wait_timeout")?.unwrap_or_default();
        Ok(Self { spec: given.rest()?, wait_timeout })
    }
}

/// Waits for the end of a job and gives its result.
///
/// A job that ends badly is an error. When the wait runs out the error says why the job has not ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitJob {
    /// The job to wait for.
    job_id: JobId,
    /// How many seconds to wait; 0 looks once.
    #[serde(default)]
    wait_timeout: Wait,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for WaitJob {
    const NAME: &'static str = "wait_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = WAIT_ERRORS;
    const WAITS: bool = true;
    const RESULT: &'static str = "What the job gave.";
    type Output = JobResult;

    fn examples() -> Vec<Example<Self, JobResult>> {
        let params = Self { job_id: sample::job_id(), wait_timeout: Wait::default(), context_id: ContextId(0) };
        vec![Example { name: "wait", params, result: sample::result() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, session: &Session) -> Result<JobResult, Error> {
        self.wait(app, session, false).await
    }

    async fn call_within(self, app: &App, session: &Session, within: Within<'_>) -> Result<JobResult, Error> {
        self.wait(app, session, within.batch.is_some()).await
    }

    /// Does nothing, because a notification has nobody who waits for the result.
    async fn notify(self, _: &App, _: &Session, _: &mut Act) -> Result<(), Error> {
        Ok(())
    }
}

impl WaitJob {
    async fn wait(self, app: &App, session: &Session, in_batch: bool) -> Result<JobResult, Error> {
        let (context, wait) = (self.context_id, self.wait_timeout.duration());
        let deadline = Instant::now() + wait;
        let job_id = app.dispatcher.spelled(context, self.job_id).await?;
        let awaited = app.dispatcher.wait_until_end(context, &job_id, wait).await?;
        Waited { context, deadline, in_batch }.result(awaited, app, session).await
    }
}

/// Gives the result of a job that has ended. A job that ended badly is an error.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetResult {
    /// The job to look at.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetResult {
    const NAME: &'static str = "get_result";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] =
        &[Code::JobNotFound, Code::State, Code::TooLarge, Code::StoreUnavailable, Code::NotFound, Code::JobFailed, Code::JobStopped];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "What the job gave.";
    type Output = JobResult;

    fn examples() -> Vec<Example<Self, JobResult>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "result", params, result: sample::result() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<JobResult, Error> {
        let job_id = app.dispatcher.spelled(self.context_id, self.job_id).await?;
        let largest = app.details.limits.response_bytes as usize;
        Ok(app.dispatcher.result_within(self.context_id, &job_id, largest).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{openrpc, params};

    fn read(raw: &str) -> Result<RunAndWait, String> {
        let names = openrpc::parameter_names::<RunAndWait>(RunAndWait::LEADING);
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
