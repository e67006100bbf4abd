//! Jobs: created, started, stopped, looked at and deleted.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{PageSize, is_default, sample, tag};
use crate::act::{self, object};
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_model::{ContextId, Job, JobFilter, JobId, JobPage, JobSpec, Status};

/// `spec` with the session's caller where it names none.
pub(super) fn signed(mut spec: JobSpec, session: &Session) -> JobSpec {
    if spec.caller_id.is_none() {
        spec.caller_id = session.caller_id();
    }
    spec
}

/// What creating a job can answer.
pub(super) const CREATE_ERRORS: &[Code] = &[
    Code::State,
    Code::UnknownScriptType,
    Code::QueueFull,
    Code::TooLarge,
    Code::StoreUnavailable,
    Code::IdempotencyReused,
    Code::NotFound,
    Code::JobNotFound,
];

/// What looking at a job can answer.
const LOOK_ERRORS: &[Code] = &[Code::JobNotFound, Code::StoreUnavailable, Code::NotFound];

/// What changing a job can answer.
const CHANGE_ERRORS: &[Code] = &[Code::JobNotFound, Code::State, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];

/// Stores a job without starting it. Gives its id.
///
/// The same `idempotency_key` with the same parameters gives the same job again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateJob {
    #[serde(flatten)]
    spec: JobSpec,
}

impl<'de> Deserialize<'de> for CreateJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JobSpec::deserialize(deserializer).map(|spec| Self { spec })
    }
}

impl Method for CreateJob {
    const NAME: &'static str = "create_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const ERRORS: &'static [Code] = CREATE_ERRORS;
    const RESULT: &'static str = "The id of the job.";
    type Output = JobId;

    fn examples() -> Vec<Example<Self, JobId>> {
        vec![Example { name: "create", params: Self { spec: sample::job_spec() }, result: sample::job_id() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewJobs(self.spec.context_id, vec![&self.spec])
    }

    fn made(id: &Self::Output) -> Option<String> {
        Some(object("job", id))
    }

    async fn call(self, app: &App, session: &Session) -> Result<JobId, Error> {
        Ok(app.dispatcher.create(signed(self.spec, session)).await?)
    }
}

/// Stores several jobs without starting them: all of them, or none if one is refused. Gives their ids, in order.
///
/// Jobs with a `job_id` may name each other, in any order. All are of one context. There are at most 1000, which name at most 2000 others
/// and have at most 2 MB. The error of a refused job has its place in `data.index`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateJobs {
    /// What the jobs are to be.
    jobs: Vec<JobSpec>,
}

impl Method for CreateJobs {
    const NAME: &'static str = "create_jobs";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const ERRORS: &'static [Code] = CREATE_ERRORS;
    // Not for its answer: a thousand jobs take fifteen times their text, until Redis has taken those before.
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The ids of the jobs, in the order given.";
    type Output = Vec<JobId>;

    fn examples() -> Vec<Example<Self, Vec<JobId>>> {
        let job = |script: &str, id: &JobId| JobSpec { script: script.into(), job_id: Some(id.clone()), ..JobSpec::default() };
        let ids = vec![sample::stopped_job_id(), sample::waiting_job_id(), sample::deleted_job_id()];
        let jobs = std::iter::zip(["40 + 2", "6 * 7", "84 / 2"], &ids).map(|(script, id)| job(script, id)).collect();
        vec![Example { name: "create three", params: Self { jobs }, result: ids }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewJobs(self.jobs.first().map_or(ContextId(0), |spec| spec.context_id), self.jobs.iter().collect())
    }

    fn made(ids: &Self::Output) -> Option<String> {
        act::jobs(ids.iter())
    }

    async fn call(self, app: &App, session: &Session) -> Result<Vec<JobId>, Error> {
        let specs = self.jobs.into_iter().map(|spec| signed(spec, session)).collect();
        Ok(app.dispatcher.create_many(specs).await?)
    }
}

/// Starts a job that was created. Gives the status it has then.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartJob {
    /// The job to start.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for StartJob {
    const NAME: &'static str = "start_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Run;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The status that the job has then.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "start", params, result: Status::Dispatched }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.start(self.context_id, &job_id).await?)
    }
}

/// Stops a job that has not ended. Gives the status it has then.
///
/// A running script gets one second to obey before the call returns; it is stopped in any case.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopJob {
    /// The job to stop.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for StopJob {
    const NAME: &'static str = "stop_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Run;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The status that the job has then.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::stopped_job_id(), context_id: ContextId(0) };
        vec![Example { name: "stop", params, result: Status::Error }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.stop(self.context_id, &job_id).await?)
    }
}

/// Runs a job again that has ended. Gives the status it has then.
///
/// Its attempts count on, its retries begin anew, and what it gave before is gone. A job in error that others waited for does not bring those back.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryJob {
    /// The job to run again.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for RetryJob {
    const NAME: &'static str = "retry_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Run;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The status that the job has then.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::stopped_job_id(), context_id: ContextId(0) };
        vec![Example { name: "retry", params, result: Status::Dispatched }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.retry(self.context_id, &job_id).await?)
    }
}

/// Gives the status of a job.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStatus {
    /// The job to look at.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetStatus {
    const NAME: &'static str = "get_status";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = LOOK_ERRORS;
    const RESULT: &'static str = "The status of the job.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "status", params, result: Status::Finished }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.status(self.context_id, &job_id).await?)
    }
}

/// Gives everything that is known of a job.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetJob {
    /// The job to look at.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetJob {
    const NAME: &'static str = "get_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::JobNotFound, Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The job.";
    type Output = Job;

    fn examples() -> Vec<Example<Self, Job>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "get", params, result: sample::job() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Job, Error> {
        let largest = usize::try_from(app.details.limits.response_bytes).unwrap_or(usize::MAX);
        let job_id = app.dispatcher.spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.job_within(self.context_id, &job_id, largest).await?)
    }
}

/// Lists jobs, the newest first.
///
/// A page can have fewer jobs than asked for, or none, and still not be the last: that one has no `next_cursor`. A list is for finding
/// jobs: what is long of one is cut after 1 KB or left out, `truncated` says what, and `get_job` gives all of it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListJobs {
    /// Which jobs; all that is given must fit.
    #[serde(default, skip_serializing_if = "is_default")]
    filter: JobFilter,
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The most jobs to give.
    #[serde(default)]
    limit: PageSize,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListJobs {
    const NAME: &'static str = "list_jobs";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The jobs that fit, the latest first.";
    type Output = JobPage;

    fn examples() -> Vec<Example<Self, JobPage>> {
        let filter = JobFilter { status: Some(Status::Finished), ..JobFilter::default() };
        let params = Self { filter, cursor: None, limit: PageSize::default(), context_id: ContextId(0) };
        // A list does not say how attempts ended.
        let job = Job { attempts: Vec::new(), ..sample::job() };
        vec![Example { name: "finished", params, result: JobPage { jobs: vec![job], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::JobsOf(self.context_id, self.filter.caller_id.as_deref())
    }

    async fn call(self, app: &App, _: &Session) -> Result<JobPage, Error> {
        // Well below what a response may have.
        let bytes = usize::try_from(app.details.limits.response_bytes / 2).unwrap_or(usize::MAX);
        let page = app.dispatcher.list_within(self.context_id, &self.filter, self.cursor.as_deref(), self.limit.get(), bytes);
        Ok(page.await?)
    }
}

/// Deletes a job that does not run, with its log. Gives true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteJob {
    /// The job to delete.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteJob {
    const NAME: &'static str = "delete_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        let params = Self { job_id: sample::deleted_job_id(), context_id: ContextId(0) };
        vec![Example { name: "delete", params, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        let job_id = app.dispatcher.spelled(self.context_id, self.job_id).await?;
        app.dispatcher.delete(self.context_id, &job_id).await?;
        Ok(true)
    }
}
