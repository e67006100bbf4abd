// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{ContextId, Explanation, Job, JobFilter, JobId, JobPage, JobResult, JobSpec, LogPage, Seconds, Status};

/// Stores a job, and starts it if `start` is set. Returns its id. A repeated call with the same `idempotency_key` and
/// the same parameters returns the same job.
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

/// Stores several jobs, or none if one is refused, and starts them if `start` is set. Returns their ids, in order. Jobs
/// with a `job_id` may name each other, in any order. All jobs belong to one context. One call takes at most 1000 jobs,
/// which name at most 2000 others and have at most 2 MB. The error for a refused job has its index in `data.index`.
/// Jobs that an earlier call with the same keys created are started after the others.
#[derive(Serialize)]
pub struct CreateJobs<'a> {
    /// The jobs to store.
    pub jobs: &'a [JobSpec],
    /// Starts the jobs at once, as `start_job` does, in one call. At most 64 jobs can be started so, which name at most
    /// 100 others and have at most 128 kB. Otherwise they stay `created` until they are started.
    pub start: bool,
}

impl Call for CreateJobs<'_> {
    const NAME: &'static str = "create_jobs";
    type Output = Vec<JobId>;
}

/// Starts a created job. Returns its status.
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

/// Creates a job, starts it, waits for its end and returns its result. A job that ends in error is a JSON-RPC error.
/// When the wait runs out, or the connection closes, the job continues; `wait_job` waits for it again.
#[derive(Serialize)]
pub struct RunAndWait<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub spec: &'a JobSpec,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
}

impl Call for RunAndWait<'_> {
    const NAME: &'static str = "run_and_wait";
    type Output = JobResult;
}

/// Waits for the end of a job and returns its result. A job that ends in error is a JSON-RPC error. When the wait runs
/// out, the error says why the job has not ended.
#[derive(Serialize)]
pub struct WaitJob<'a> {
    /// The job to wait for.
    pub job_id: &'a JobId,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for WaitJob<'_> {
    const NAME: &'static str = "wait_job";
    type Output = JobResult;
}

/// Stops a job that has not ended. Returns its status. The call waits up to one second for a running script to end. The
/// script is stopped in any case.
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

/// Runs an ended job again. Returns its status. Its attempts are counted on, its retries begin anew, and its previous
/// result is gone. Jobs that waited for it and ended in error with it are not retried.
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

/// Returns the status of a job.
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

/// Returns everything that is known about a job.
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

/// Returns the result of an ended job. A job that ended in error is a JSON-RPC error.
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

/// Returns log lines of a job, oldest first. A page also ends after about a megabyte, so a page with lines, but fewer
/// than `limit`, may not be the last. While the job can log more, even a page without lines has a `next_cursor`: call
/// again with it, or use `subscribe_logs`.
#[derive(Serialize)]
pub struct GetLogs<'a> {
    /// The job whose log to read.
    pub job_id: &'a JobId,
    /// The `next_cursor` of the page before, or the `cursor` of a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of lines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The context the job belongs to.
    pub context_id: ContextId,
}

impl Call for GetLogs<'_> {
    const NAME: &'static str = "get_logs";
    type Output = LogPage;
}

/// Lists jobs, newest first. A page may have fewer jobs than `limit`, or none, although more follow: only the last page
/// has no `next_cursor`. Long values are cut after 1 KB or left out: `truncated` names them, and `get_job` returns them
/// in full.
#[derive(Default, Serialize)]
pub struct ListJobs<'a> {
    /// The conditions, all of which a job must meet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<&'a JobFilter>,
    /// The `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListJobs<'_> {
    const NAME: &'static str = "list_jobs";
    type Output = JobPage;
}

/// Mirrors a job in Redis as a hash of the coordinator's specification. Returns the key: `job:{caller}:{n}`. From then
/// on, each change of the job is also written there, and the hash is deleted with the job. A job that has such a key
/// keeps it.
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

/// Deletes a job that is not running, with its log. Returns true.
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

/// Explains why a job is not running, or how it ended: as a word, a sentence, and the facts behind them.
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
