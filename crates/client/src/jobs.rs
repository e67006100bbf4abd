use std::time::Duration;

use serde_json::Value;

use super::calls::{
    Call as _, CreateJob, CreateJobs, DeleteJob, DrainServer, ExplainJob, GetJob, GetLogs, GetResult, GetStatus, ListActors, ListJobs,
    ListQueues, PauseQueue, Ping, ResumeQueue, RetryJob, RunAndWait, ServerInfo, StartJob, StopJob, WaitJob,
};
use super::connection::{Client, MOST_LOST};
use super::error::{Error, code};
use hero_model::{Actor, ContextId, Explanation, Job, JobFilter, JobId, JobPage, JobResult, JobSpec, LogPage, Queue, QueueInfo, Status};

/// Maximum wait of one call.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The pause between two waits for the same job.
const PAUSE_BETWEEN_WAITS: Duration = Duration::from_millis(100);

/// The methods with their parameter and result types. `openrpc.json` describes each.
impl Client {
    /// Stores a job and returns its id.
    pub async fn create_job(&self, spec: &JobSpec) -> Result<JobId, Error> {
        self.store_job(spec, false).await
    }

    /// Stores a job, starts it and returns its id, in one call that can be repeated.
    pub async fn submit_job(&self, spec: &JobSpec) -> Result<JobId, Error> {
        self.store_job(spec, true).await
    }

    async fn store_job(&self, spec: &JobSpec, start: bool) -> Result<JobId, Error> {
        self.call(&CreateJob { spec: &self.keyed(spec, |spec| &mut spec.idempotency_key), start }).await
    }

    /// Stores several jobs, all or none, and returns their ids.
    ///
    /// Each job gets an idempotency key, so that the call can be repeated. But if a job has an id, others may name it,
    /// which the server refuses for jobs with keys: such a call is sent once.
    pub async fn create_jobs(&self, jobs: &[JobSpec]) -> Result<Vec<JobId>, Error> {
        self.store_jobs(jobs, false).await
    }

    /// Like [`Client::create_jobs`], and starts the jobs; the server bounds how many jobs can be started so.
    pub async fn submit_jobs(&self, jobs: &[JobSpec]) -> Result<Vec<JobId>, Error> {
        self.store_jobs(jobs, true).await
    }

    async fn store_jobs(&self, jobs: &[JobSpec], start: bool) -> Result<Vec<JobId>, Error> {
        if jobs.iter().any(|job| job.job_id.is_some() && job.idempotency_key.is_none()) {
            return self.call(&CreateJobs { jobs, start }).await;
        }
        let jobs: Vec<_> = jobs.iter().map(|spec| self.keyed(spec, |spec| &mut spec.idempotency_key).into_owned()).collect();
        self.call(&CreateJobs { jobs: &jobs, start }).await
    }

    /// Puts a created job into its queue.
    pub async fn start_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call(&StartJob { job_id, context_id }).await
    }

    /// Like [`Client::start_job`], for a job that [`Client::create_job`] returned for `spec`. With an idempotency key,
    /// it may be a job that was started before, and a job whose prerequisite is in error has already ended. Then this
    /// returns the status of the job.
    ///
    /// If the connection is lost before the answer, checks whether the job was started, and starts it if not.
    pub async fn begin_job(&self, spec: &JobSpec, job_id: &JobId) -> Result<Status, Error> {
        let mut lost = 0;
        loop {
            match self.start_job(spec.context_id, job_id).await {
                Err(error) if error.has_code(code::STATE) => match error.status() {
                    Some(status) if status != Status::Created => return Ok(status),
                    _ => return Err(error),
                },
                Err(error @ Error::Unknown { .. }) if !self.is_over() => match self.get_status(spec.context_id, job_id).await {
                    Ok(Status::Created) if lost < MOST_LOST => lost += 1,
                    Ok(Status::Created) => return Err(error),
                    Ok(status) => return Ok(status),
                    Err(_) => return Err(error),
                },
                answer => return answer,
            }
        }
    }

    /// Creates and starts a job, and waits for its end, at most `wait`.
    ///
    /// If the answer does not come, or cannot be read, this fails with [`Error::Unknown`], [`Error::Timeout`] or
    /// [`Error::LoggedOut`]: whether the job runs is unknown. The same call with the key in `keys` as the `idempotency_key`
    /// of `spec` runs no second one.
    pub async fn run_and_wait(&self, spec: &JobSpec, wait: Duration) -> Result<JobResult, Error> {
        let (begun, spec) = (tokio::time::Instant::now(), &*self.keyed(spec, |spec| &mut spec.idempotency_key));
        let first = wait.min(LONGEST_WAIT);
        match self.call_waiting(first, |left| RunAndWait { spec, wait_timeout: Some(left) }).await {
            // A server that shuts down answers early.
            Err(error) if error.is_wait_run_out() && begun.elapsed() < wait && !self.is_over() => match error.job_id() {
                Some(id) => self.wait_to_the_end(spec.context_id, &id, Some(wait.saturating_sub(begun.elapsed()))).await,
                None => Err(error),
            },
            answer => answer,
        }
    }

    /// Waits for the end of a job, at most `wait` and at most an hour.
    pub async fn wait_job(&self, context_id: ContextId, job_id: &JobId, wait: Duration) -> Result<JobResult, Error> {
        self.call_waiting(wait.min(LONGEST_WAIT), |left| WaitJob { job_id, wait_timeout: Some(left), context_id }).await
    }

    /// Waits for the end of a job, for at most `limit` if it is given.
    pub async fn wait_to_the_end(&self, context_id: ContextId, job_id: &JobId, limit: Option<Duration>) -> Result<JobResult, Error> {
        let begun = tokio::time::Instant::now();
        loop {
            let left = limit.map_or(LONGEST_WAIT, |limit| limit.saturating_sub(begun.elapsed()));
            match self.wait_job(context_id, job_id, left).await {
                // A server that shuts down answers early.
                Err(error) if error.is_wait_run_out() && limit.is_none_or(|limit| begun.elapsed() < limit) => {
                    tokio::time::sleep(PAUSE_BETWEEN_WAITS).await;
                }
                answer => return answer,
            }
        }
    }

    /// Stops a job that has not ended.
    pub async fn stop_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call(&StopJob { job_id, context_id }).await
    }

    /// Runs a job again that has ended.
    pub async fn retry_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call(&RetryJob { job_id, context_id }).await
    }

    /// Explains why a job does not run now.
    pub async fn explain_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Explanation, Error> {
        self.call(&ExplainJob { job_id, context_id }).await
    }

    /// Returns the status of a job.
    pub async fn get_status(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call(&GetStatus { job_id, context_id }).await
    }

    /// Returns all fields of a job.
    pub async fn get_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Job, Error> {
        self.call(&GetJob { job_id, context_id }).await
    }

    /// Returns the result of a job that has ended.
    pub async fn get_result(&self, context_id: ContextId, job_id: &JobId) -> Result<JobResult, Error> {
        self.call(&GetResult { job_id, context_id }).await
    }

    /// Returns a page of a job's log, from `cursor` on.
    pub async fn get_logs(&self, context_id: ContextId, job_id: &JobId, cursor: Option<&str>, limit: usize) -> Result<LogPage, Error> {
        self.call(&GetLogs { job_id, cursor, limit: Some(limit), context_id }).await
    }

    /// Returns a page of the jobs that match `filter`, newest first.
    pub async fn list_jobs(&self, context_id: ContextId, filter: &JobFilter, cursor: Option<&str>, limit: usize) -> Result<JobPage, Error> {
        self.call(&ListJobs { filter: Some(filter), cursor, limit: Some(limit), context_id }).await
    }

    /// Deletes a job that does not run.
    pub async fn delete_job(&self, context_id: ContextId, job_id: &JobId) -> Result<(), Error> {
        self.call(&DeleteJob { job_id, context_id }).await.map(drop)
    }

    /// Returns the live actors.
    pub async fn list_actors(&self, context_id: ContextId) -> Result<Vec<Actor>, Error> {
        self.call(&ListActors { context_id }).await
    }

    /// Returns the work queues and their lengths.
    pub async fn list_queues(&self, context_id: ContextId) -> Result<Vec<QueueInfo>, Error> {
        self.call(&ListQueues { context_id }).await
    }

    /// Pauses a queue: no jobs are taken from it. Its priority is ignored.
    pub async fn pause_queue(&self, context_id: ContextId, queue: &Queue) -> Result<(), Error> {
        let Queue { script_type, target, .. } = queue;
        let (group, instance) = (target.group(), target.instance());
        self.call(&PauseQueue { script_type, group, instance, context_id }).await.map(drop)
    }

    /// Resumes a paused queue.
    pub async fn resume_queue(&self, context_id: ContextId, queue: &Queue) -> Result<(), Error> {
        let Queue { script_type, target, .. } = queue;
        let (group, instance) = (target.group(), target.instance());
        self.call(&ResumeQueue { script_type, group, instance, context_id }).await.map(drop)
    }

    /// Makes the server take no more jobs and end when its running jobs have ended, or after `timeout` at the latest.
    /// Returns the number of running jobs.
    pub async fn drain_server(&self, timeout: Duration) -> Result<u32, Error> {
        Ok(self.call(&DrainServer { timeout: Some(timeout.into()) }).await?.running)
    }

    /// Returns the server's information about itself.
    pub async fn server_info(&self) -> Result<Value, Error> {
        let info = self.call(&ServerInfo {}).await?;
        info.to_value().map_err(|source| Error::shape(ServerInfo::NAME, source))
    }

    /// Checks that the server answers.
    pub async fn ping(&self) -> Result<(), Error> {
        self.call(&Ping {}).await.map(drop)
    }
}
