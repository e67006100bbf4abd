use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::connection::{Client, MOST_LOST};
use super::error::{Error, code};
use super::keyed::Keyed;
use hero_model::{
    Actor, ContextId, Explanation, Job, JobFilter, JobId, JobPage, JobResult, JobSpec, LogPage, Name, Queue, QueueInfo, ScriptType,
    Seconds, Status,
};

/// Maximum wait of one call.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The pause between two waits for the same job.
const PAUSE: Duration = Duration::from_millis(100);

/// The parameters of every method that names a job.
#[derive(Serialize)]
struct Named<'a> {
    job_id: &'a JobId,
    context_id: ContextId,
}

#[derive(Serialize)]
struct Waited<'a> {
    job_id: &'a JobId,
    wait_timeout: f64,
    context_id: ContextId,
}

#[derive(Serialize)]
struct Run<'a> {
    #[serde(flatten)]
    spec: &'a Keyed<'a, JobSpec>,
    wait_timeout: f64,
}

#[derive(Serialize)]
struct Many<'a> {
    jobs: Vec<Keyed<'a, JobSpec>>,
}

#[derive(Serialize)]
struct Logs<'a> {
    job_id: &'a JobId,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
    limit: usize,
    context_id: ContextId,
}

#[derive(Serialize)]
struct List<'a> {
    filter: &'a JobFilter,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a str>,
    limit: usize,
    context_id: ContextId,
}

#[derive(Serialize)]
struct QueueNamed<'a> {
    script_type: &'a ScriptType,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<&'a Name>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<u32>,
    context_id: ContextId,
}

impl<'a> QueueNamed<'a> {
    fn new(context_id: ContextId, queue: &'a Queue) -> Self {
        Self { script_type: &queue.script_type, group: queue.target.group(), instance: queue.target.instance(), context_id }
    }
}

#[derive(Deserialize)]
struct Draining {
    running: u32,
}

/// The methods with their parameter and result types. `openrpc.json` describes each.
impl Client {
    /// Stores a job and returns its id.
    pub async fn create_job(&self, spec: &JobSpec) -> Result<JobId, Error> {
        self.call("create_job", self.keyed(spec)).await
    }

    /// Stores several jobs, all or none, and returns their ids.
    pub async fn create_jobs(&self, jobs: &[JobSpec]) -> Result<Vec<JobId>, Error> {
        self.call("create_jobs", Many { jobs: jobs.iter().map(|spec| self.keyed(spec)).collect() }).await
    }

    /// Puts a created job into its queue.
    pub async fn start_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call("start_job", Named { job_id, context_id }).await
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
    pub async fn run_and_wait(&self, spec: &JobSpec, wait: Duration) -> Result<JobResult, Error> {
        let (begun, spec) = (tokio::time::Instant::now(), &self.keyed(spec));
        let first = wait.min(LONGEST_WAIT);
        match self.call_waiting(first, "run_and_wait", |wait_timeout| Run { spec, wait_timeout }).await {
            // A server that shuts down answers early.
            Err(error) if error.is_wait_run_out() && begun.elapsed() < wait && !self.is_over() => match error.job_id() {
                Some(id) => self.wait_to_the_end(spec.spec.context_id, &id, Some(wait.saturating_sub(begun.elapsed()))).await,
                None => Err(error),
            },
            answer => answer,
        }
    }

    /// Waits for the end of a job, at most `wait` and at most an hour.
    pub async fn wait_job(&self, context_id: ContextId, job_id: &JobId, wait: Duration) -> Result<JobResult, Error> {
        let named = |wait_timeout| Waited { job_id, wait_timeout, context_id };
        self.call_waiting(wait.min(LONGEST_WAIT), "wait_job", named).await
    }

    /// Waits for the end of a job, for at most `limit` if it is given.
    pub async fn wait_to_the_end(&self, context_id: ContextId, job_id: &JobId, limit: Option<Duration>) -> Result<JobResult, Error> {
        let begun = tokio::time::Instant::now();
        loop {
            let left = limit.map_or(LONGEST_WAIT, |limit| limit.saturating_sub(begun.elapsed()));
            match self.wait_job(context_id, job_id, left).await {
                // A server that shuts down answers early.
                Err(error) if error.is_wait_run_out() && limit.is_none_or(|limit| begun.elapsed() < limit) => {
                    tokio::time::sleep(PAUSE).await;
                }
                answer => return answer,
            }
        }
    }

    /// Stops a job that has not ended.
    pub async fn stop_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call("stop_job", Named { job_id, context_id }).await
    }

    /// Runs a job again that has ended.
    pub async fn retry_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call("retry_job", Named { job_id, context_id }).await
    }

    /// Explains why a job does not run now.
    pub async fn explain_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Explanation, Error> {
        self.call("explain_job", Named { job_id, context_id }).await
    }

    /// Returns the status of a job.
    pub async fn get_status(&self, context_id: ContextId, job_id: &JobId) -> Result<Status, Error> {
        self.call("get_status", Named { job_id, context_id }).await
    }

    /// Returns all fields of a job.
    pub async fn get_job(&self, context_id: ContextId, job_id: &JobId) -> Result<Job, Error> {
        self.call("get_job", Named { job_id, context_id }).await
    }

    /// Returns the result of a job that has ended.
    pub async fn get_result(&self, context_id: ContextId, job_id: &JobId) -> Result<JobResult, Error> {
        self.call("get_result", Named { job_id, context_id }).await
    }

    /// Returns a page of a job's log, from `cursor` on.
    pub async fn get_logs(&self, context_id: ContextId, job_id: &JobId, cursor: Option<&str>, limit: usize) -> Result<LogPage, Error> {
        self.call("get_logs", Logs { job_id, cursor, limit, context_id }).await
    }

    /// Returns a page of the jobs that match `filter`, newest first.
    pub async fn list_jobs(&self, context_id: ContextId, filter: &JobFilter, cursor: Option<&str>, limit: usize) -> Result<JobPage, Error> {
        self.call("list_jobs", List { filter, cursor, limit, context_id }).await
    }

    /// Deletes a job that does not run.
    pub async fn delete_job(&self, context_id: ContextId, job_id: &JobId) -> Result<(), Error> {
        self.call::<bool>("delete_job", Named { job_id, context_id }).await.map(drop)
    }

    /// Returns the live actors.
    pub async fn list_actors(&self, context_id: ContextId) -> Result<Vec<Actor>, Error> {
        self.call("list_actors", json!({ "context_id": context_id })).await
    }

    /// Returns the work queues and their lengths.
    pub async fn list_queues(&self, context_id: ContextId) -> Result<Vec<QueueInfo>, Error> {
        self.call("list_queues", json!({ "context_id": context_id })).await
    }

    /// Pauses a queue: no jobs are taken from it. Its priority is ignored.
    pub async fn pause_queue(&self, context_id: ContextId, queue: &Queue) -> Result<(), Error> {
        self.call::<bool>("pause_queue", QueueNamed::new(context_id, queue)).await.map(drop)
    }

    /// Resumes a paused queue.
    pub async fn resume_queue(&self, context_id: ContextId, queue: &Queue) -> Result<(), Error> {
        self.call::<bool>("resume_queue", QueueNamed::new(context_id, queue)).await.map(drop)
    }

    /// Makes the server take no more jobs and end when its running jobs have ended, or after `timeout` at the latest.
    /// Returns the number of running jobs.
    pub async fn drain_server(&self, timeout: Duration) -> Result<u32, Error> {
        let draining: Draining = self.call("drain_server", json!({ "timeout": Seconds::from(timeout) })).await?;
        Ok(draining.running)
    }

    /// Returns the server's information about itself.
    pub async fn server_info(&self) -> Result<Value, Error> {
        self.call("server_info", json!({})).await
    }

    /// Checks that the server answers.
    pub async fn ping(&self) -> Result<(), Error> {
        self.call::<String>("ping", json!({})).await.map(drop)
    }
}
