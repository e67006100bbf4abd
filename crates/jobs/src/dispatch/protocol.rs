use std::time::Duration;

use super::{Dispatcher, Error};
use hero_model::{ContextId, JobFilter, JobId, JobSpec, Seconds, Status};

/// The context of those operations that do not name one.
const HOME: ContextId = ContextId(0);
/// No list of jobs is longer.
const MOST_JOBS: usize = 100_000;
/// How many jobs or lines are read at a time.
const PAGE: usize = 500;
/// No log is given further than to this line; streams and files of logs are shorter.
const MOST_LINES: usize = 1_000_000;
/// A job that runs is waited for beyond its timeout, because it may have to wait for an actor first.
const IN_QUEUE: Duration = Duration::from_secs(60);
/// No pause between two attempts is longer.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// What a clock can still count.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 3600);

/// The operations that programs for the legacy layout know, by the names that they have there. They concern
/// context 0, except that the specification of a new job names its own. The methods without `job` in their names do the same in any context.
impl Dispatcher {
    /// Stores a job, which [`Dispatcher::start_job`] starts, and gives its id.
    pub async fn create_job(&self, job: JobSpec) -> Result<JobId, Error> {
        self.create(job).await
    }

    /// Puts a created job on its way, and says how far it got: its queue, or what it waits for.
    pub async fn start_job(&self, job_id: &JobId) -> Result<Status, Error> {
        self.start(HOME, job_id).await
    }

    /// Runs a job and gives its output.
    ///
    /// `worker_id` is noted in the job; where it is a number, only the actor with that number runs it. The wait ends with
    /// [`Error::StillRunning`] a minute after the time that all attempts of the job may take; the job goes on.
    pub async fn run_job_and_await_result(&self, mut job: JobSpec, worker_id: &str) -> Result<String, Error> {
        let worker = worker_id.parse().map_err(|error| Error::invalid("worker_id", format!("{error}")))?;
        job.worker_id = Some(worker);
        let wait = self.longest(&job);
        Ok(self.run_and_wait(job, wait).await?.output)
    }

    /// Stops a job that has not ended. One that runs has been asked to when this returns, and mostly has obeyed.
    pub async fn stop_job(&self, job_id: &JobId) -> Result<(), Error> {
        self.stop(HOME, job_id).await.map(drop)
    }

    /// Where a job is in its life.
    pub async fn get_job_status(&self, job_id: &JobId) -> Result<Status, Error> {
        self.status(HOME, job_id).await
    }

    /// Everything that a job has logged so far, line by line; nothing if it has logged nothing.
    pub async fn get_job_logs(&self, job_id: &JobId) -> Result<Option<String>, Error> {
        let (mut text, mut lines, mut cursor): (Option<String>, usize, Option<String>) = (None, 0, None);
        loop {
            let page = self.logs(HOME, job_id, cursor.as_deref(), PAGE).await?;
            lines += page.lines.len();
            let is_last = page.lines.len() < PAGE || lines >= MOST_LINES;
            for line in page.lines {
                let text = text.get_or_insert_default();
                text.push_str(&line.text);
                text.push('\n');
            }
            if is_last {
                return Ok(text);
            }
            cursor = page.next_cursor;
        }
    }

    /// The ids of all jobs, newest first; of very many the newest 100,000.
    pub async fn list_jobs(&self) -> Result<Vec<JobId>, Error> {
        let (mut ids, mut cursor): (Vec<JobId>, Option<String>) = (Vec::new(), None);
        loop {
            let page = self.list(HOME, &JobFilter::default(), cursor.as_deref(), PAGE).await?;
            ids.extend(page.jobs.into_iter().map(|job| job.job_id));
            cursor = page.next_cursor;
            if cursor.is_none() || ids.len() >= MOST_JOBS {
                ids.truncate(MOST_JOBS);
                return Ok(ids);
            }
        }
    }

    /// How long all attempts of a job may take, and the wait for an actor.
    fn longest(&self, job: &JobSpec) -> Duration {
        let timeout = job.timeout.map_or(self.0.settings.timeout, Seconds::duration);
        let pause = if job.retries == 0 { Duration::ZERO } else { LONGEST_PAUSE };
        timeout.saturating_add((timeout + pause).saturating_mul(job.retries)).saturating_add(IN_QUEUE).min(LONGEST_WAIT)
    }
}
