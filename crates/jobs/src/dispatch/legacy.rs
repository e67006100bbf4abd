use std::time::Duration;

use super::Error;
use super::views::LegacyCalls;
use hero_model::{Backoff, ContextId, JobFilter, JobId, JobSpec, Seconds, Status};

/// The context of the operations that do not name one.
const HOME: ContextId = ContextId(0);
/// Maximum length of a list of jobs.
const MOST_JOBS: usize = 100_000;
/// Maximum number of jobs or lines that are read at a time.
const PAGE_SIZE: usize = 500;
/// Maximum number of lines of a log. Streams and files of logs are shorter.
const MOST_LINES: usize = 1_000_000;
/// Extra time to wait for a job beyond its timeout, because it may wait for an actor first.
const IN_QUEUE: Duration = Duration::from_secs(60);
/// Maximum wait, so that a clock can represent its end.
const LONGEST_WAIT: Duration = Duration::from_secs(366 * 24 * 3600);

/// They concern context 0, except that the specification of a new job names its own. The methods of
/// [`JobCalls`](super::views::JobCalls) do the same in any context.
impl LegacyCalls<'_> {
    /// Stores a job and returns its id. [`Self::start_job`] starts it.
    pub async fn create_job(self, job: JobSpec) -> Result<JobId, Error> {
        self.0.jobs().create(job).await
    }

    /// Starts a created job. Returns whether it is queued or waits for other jobs.
    pub async fn start_job(self, job_id: &JobId) -> Result<Status, Error> {
        self.0.jobs().start(HOME, job_id).await
    }

    /// Runs a job and returns its output.
    ///
    /// Stores `worker_id` in the job. If it is a number, only the actor with that number runs the job. The wait ends
    /// with [`Error::StillRunning`] a minute after the maximum time of all attempts of the job and the pauses between them; the
    /// job goes on.
    pub async fn run_job_and_await_result(self, mut job: JobSpec, worker_id: &str) -> Result<String, Error> {
        let worker = worker_id.parse().map_err(|error| Error::invalid("worker_id", format!("{error}")))?;
        job.worker_id = Some(worker);
        let wait = longest(&job);
        Ok(self.0.jobs().run_and_wait(job, wait).await?.output)
    }

    /// Stops a job that has not ended. A running job has received the stop request when this returns, and has usually
    /// ended.
    pub async fn stop_job(self, job_id: &JobId) -> Result<(), Error> {
        self.0.jobs().stop(HOME, job_id).await.map(drop)
    }

    /// Returns the status of a job.
    pub async fn get_job_status(self, job_id: &JobId) -> Result<Status, Error> {
        self.0.jobs().status(HOME, job_id).await
    }

    /// Returns everything that a job has logged so far, line by line, or `None` if it has logged nothing.
    pub async fn get_job_logs(self, job_id: &JobId) -> Result<Option<String>, Error> {
        let (mut text, mut lines, mut cursor): (Option<String>, usize, Option<String>) = (None, 0, None);
        loop {
            let page = self.0.logs().page(HOME, job_id, cursor.as_deref(), PAGE_SIZE).await?;
            lines += page.lines.len();
            let is_last = page.lines.len() < PAGE_SIZE || lines >= MOST_LINES;
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

    /// Returns the ids of all jobs, newest first, at most 100,000.
    pub async fn list_jobs(self) -> Result<Vec<JobId>, Error> {
        let (mut ids, mut cursor): (Vec<JobId>, Option<String>) = (Vec::new(), None);
        loop {
            let page = self.0.jobs().list(HOME, &JobFilter::default(), cursor.as_deref(), PAGE_SIZE).await?;
            ids.extend(page.jobs.into_iter().map(|job| job.job_id));
            cursor = page.next_cursor;
            if cursor.is_none() || ids.len() >= MOST_JOBS {
                ids.truncate(MOST_JOBS);
                return Ok(ids);
            }
        }
    }
}

/// Returns the maximum time of all attempts of a job, of the pauses between them, and of the wait for an actor.
fn longest(job: &JobSpec) -> Duration {
    let timeout = job.timeout.map_or(JobSpec::DEFAULT_TIMEOUT, Seconds::duration);
    let first = job.retry_backoff.map_or(Backoff::DEFAULT_FIRST_WAIT, Seconds::duration);
    let attempts = timeout.saturating_mul(job.retries.saturating_add(1));
    let pauses = Backoff::starting_with(first).longest_total(job.retries);
    attempts.saturating_add(pauses).saturating_add(IN_QUEUE).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_result_covers_all_attempts_and_the_pauses_of_the_job() {
        let seconds = |retries, retry_backoff: Option<f64>| {
            let retry_backoff = retry_backoff.map(|seconds| Seconds::new(seconds).unwrap());
            longest(&JobSpec { timeout: Seconds::new(10.0), retries, retry_backoff, ..JobSpec::default() }).as_secs_f64()
        };
        assert_eq!(seconds(0, Some(3600.0)), 70.0);
        assert_eq!(seconds(2, None), 3.0 * 10.0 + 1.25 + 2.5 + 60.0);
        assert_eq!(seconds(1, Some(3600.0)), 2.0 * 10.0 + 1.25 * 3600.0 + 60.0);
        assert_eq!(seconds(u32::MAX, Some(Seconds::MAX)), LONGEST_WAIT.as_secs_f64());
    }
}
