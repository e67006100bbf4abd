// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{ContextId, Explanation, Job, JobFilter, JobId, JobPage, JobResult, JobSpec, LogPage, Seconds, Status};

/// Stores a job, and starts it if `start` is set. Gives its id. The same `idempotency_key` with the same parameters
/// gives the same job again.
#[derive(Serialize)]
pub struct CreateJob<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub spec: &'a JobSpec,
    /// Starts the job at once, as `start_job` does, in one call. Otherwise it stays `created` until it is started.
    pub start: bool,
}

impl Call for CreateJob<'_> {
    const NAME: &'static str = "create_job";
    type Output = JobId;
}

/// Stores several jobs, all of them or none if one is refused, and starts them if `start` is set. Gives their ids, in
/// order. Jobs with a `job_id` may name each other, in any order. All are of one context. There are at most 1000, which
/// name at most 2000 others and have at most 2 MB. The error of a refused job has its place in `data.index`. Jobs that
/// an earlier call with the same keys created are started after the others.
#[derive(Serialize)]
pub struct CreateJobs<'a> {
    /// What the jobs are to be.
    pub jobs: &'a [JobSpec],
    /// Starts the jobs at once, as `start_job` does, in one call. At most 64 jobs can be started so, which name at most
    /// 100 others and have at most 128 kB. Otherwise they stay `created` until they are started.
    pub start: bool,
}

impl Call for CreateJobs<'_> {
    const NAME: &'static str = "create_jobs";
    type Output = Vec<JobId>;
}

/// Starts a job that was created. Gives the status it has then.
#[derive(Serialize)]
pub struct StartJob<'a> {
    /// The job to start.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for StartJob<'_> {
    const NAME: &'static str = "start_job";
    type Output = Status;
}

/// Creates a job, starts it, waits for its end and gives its result. A job that ends badly is an error. When the wait
/// runs out the job goes on, and `wait_job` waits on. When the connection closes the job goes on too.
#[derive(Serialize)]
pub struct RunAndWait<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub spec: &'a JobSpec,
    /// How many seconds to wait; 0 looks once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
}

impl Call for RunAndWait<'_> {
    const NAME: &'static str = "run_and_wait";
    type Output = JobResult;
}

/// Waits for the end of a job and gives its result. A job that ends badly is an error. When the wait runs out the error
/// says why the job has not ended.
#[derive(Serialize)]
pub struct WaitJob<'a> {
    /// The job to wait for.
    pub job_id: &'a JobId,
    /// How many seconds to wait; 0 looks once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for WaitJob<'_> {
    const NAME: &'static str = "wait_job";
    type Output = JobResult;
}

/// Stops a job that has not ended. Gives the status it has then. A running script gets one second to obey before the
/// call returns; it is stopped in any case.
#[derive(Serialize)]
pub struct StopJob<'a> {
    /// The job to stop.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for StopJob<'_> {
    const NAME: &'static str = "stop_job";
    type Output = Status;
}

/// Runs a job again that has ended. Gives the status it has then. Its attempts count on, its retries begin anew, and
/// what it gave before is gone. A job in error that others waited for does not bring those back.
#[derive(Serialize)]
pub struct RetryJob<'a> {
    /// The job to run again.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for RetryJob<'_> {
    const NAME: &'static str = "retry_job";
    type Output = Status;
}

/// Gives the status of a job.
#[derive(Serialize)]
pub struct GetStatus<'a> {
    /// The job to look at.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for GetStatus<'_> {
    const NAME: &'static str = "get_status";
    type Output = Status;
}

/// Gives everything that is known of a job.
#[derive(Serialize)]
pub struct GetJob<'a> {
    /// The job to look at.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for GetJob<'_> {
    const NAME: &'static str = "get_job";
    type Output = Job;
}

/// Gives the result of a job that has ended. A job that ended badly is an error.
#[derive(Serialize)]
pub struct GetResult<'a> {
    /// The job to look at.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for GetResult<'_> {
    const NAME: &'static str = "get_result";
    type Output = JobResult;
}

/// Gives log lines of a job, the oldest first. A page ends after about a megabyte, too: it may have fewer lines than
/// asked for and not be the last, if it has any. A page without lines has a `next_cursor` too as long as the job can
/// log more: ask again with it, or use `subscribe_logs`.
#[derive(Serialize)]
pub struct GetLogs<'a> {
    /// The job whose log to read.
    pub job_id: &'a JobId,
    /// The `next_cursor` of the page before, or the `cursor` of a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most lines to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The context the job belongs to.
    pub context_id: ContextId,
}

impl Call for GetLogs<'_> {
    const NAME: &'static str = "get_logs";
    type Output = LogPage;
}

/// Lists jobs, the newest first. A page can have fewer jobs than asked for, or none, and still not be the last: that
/// one has no `next_cursor`. A list is for finding jobs: what is long of one is cut after 1 KB or left out, `truncated`
/// says what, and `get_job` gives all of it.
#[derive(Default, Serialize)]
pub struct ListJobs<'a> {
    /// Which jobs; all that is given must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<&'a JobFilter>,
    /// The `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most jobs to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListJobs<'_> {
    const NAME: &'static str = "list_jobs";
    type Output = JobPage;
}

/// Has a job be seen in Redis as the coordinator's specification has it, too. Gives the key: `job:{caller}:{n}`. Each
/// change of the job is written there from now on, and the hash goes with the job. A job that has such a key keeps it.
#[derive(Serialize)]
pub struct NumberJob<'a> {
    /// The job to number.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for NumberJob<'_> {
    const NAME: &'static str = "number_job";
    type Output = String;
}

/// Deletes a job that does not run, with its log. Gives true.
#[derive(Serialize)]
pub struct DeleteJob<'a> {
    /// The job to delete.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for DeleteJob<'_> {
    const NAME: &'static str = "delete_job";
    type Output = bool;
}

/// Says why a job does not run now, or how it ended: in a word, in a sentence, and with the facts behind them.
#[derive(Serialize)]
pub struct ExplainJob<'a> {
    /// The job to look at.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for ExplainJob<'_> {
    const NAME: &'static str = "explain_job";
    type Output = Explanation;
}
