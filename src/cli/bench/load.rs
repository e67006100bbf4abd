use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::time::sleep;

use super::step::Steps;
use crate::client::{Client, code};
use crate::model::{ContextId, JobId, JobSpec, QueueInfo, Seconds, Status};

pub(super) const HOME: ContextId = ContextId(0);
/// The number of concurrent calls while jobs are submitted and checked.
pub(super) const IN_FLIGHT: u64 = 64;
/// The measurement fails if a server makes no progress for this long.
pub(super) const STUCK_AFTER: Duration = Duration::from_secs(120);
/// Interval of progress checks.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Puts load on a server through one connection or several.
pub(super) struct Load {
    clients: Vec<Client>,
    spec: JobSpec,
    /// The ids of all jobs it may have created, if they are to be removed.
    made: Option<RefCell<Vec<JobId>>>,
    steps: Rc<Steps>,
}

/// The retention of the jobs, in case they are not removed.
const RETENTION: Duration = Duration::from_secs(3600);
/// Timeout for a job to end so that it can be removed.
const REMOVAL_TIMEOUT: Duration = Duration::from_secs(60);

/// The time of each call of a run.
pub(super) struct Run {
    /// The time from the first call to the last answer.
    pub(super) wall: Duration,
    sorted: Vec<Duration>,
}

impl Run {
    /// Collects the times of calls made one after another.
    pub(super) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { wall: times.iter().sum(), sorted: times }
    }

    /// Returns the time of each call.
    pub(super) fn times(self) -> Vec<Duration> {
        self.sorted
    }

    /// Returns the time within which this share of the calls was answered.
    pub(super) fn quantile_ms(&self, share: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length is an index")]
        let at = (self.sorted.len() as f64 * share) as usize;
        self.sorted.get(at.min(self.sorted.len().saturating_sub(1))).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

impl Load {
    pub(super) fn new(clients: Vec<Client>, steps: &Rc<Steps>) -> Self {
        let spec = JobSpec { script: "40 + 2".to_owned(), ..JobSpec::default() };
        Self { clients, spec, made: None, steps: Rc::clone(steps) }
    }

    /// Remembers its jobs, so that [`Load::clean`] can remove them from a server that others also use.
    pub(super) fn tidy(self) -> Self {
        let spec = JobSpec { retention: Some(Seconds::from(RETENTION)), ..self.spec };
        Self { spec, made: Some(RefCell::default()), ..self }
    }

    /// Returns a job to create.
    pub(super) fn job(&self) -> JobSpec {
        match &self.made {
            Some(_) => self.job_with(JobId::random()),
            None => self.spec.clone(),
        }
    }

    /// Returns a job to create, with this id.
    pub(super) fn job_with(&self, id: JobId) -> JobSpec {
        if let Some(made) = &self.made {
            made.borrow_mut().push(id.clone());
        }
        JobSpec { job_id: Some(id), ..self.spec.clone() }
    }

    /// Deletes every job that it has created. Returns the number that could not be deleted.
    pub(super) async fn clean(&self) -> u64 {
        let made = self.made.as_ref().map(RefCell::take).unwrap_or_default();
        let (begun, left) = (Instant::now(), Cell::new(0));
        let remove = async |caller, number: u64| {
            let (client, id) = (self.client(caller), &made[usize::try_from(number)?]);
            loop {
                match client.delete_job(HOME, id).await {
                    Ok(()) => return Ok(()),
                    Err(error) if error.has_code(code::JOB_NOT_FOUND) => return Ok(()),
                    Err(error) if error.has_code(code::STATE) && begun.elapsed() < REMOVAL_TIMEOUT => drop(client.stop_job(HOME, id).await),
                    Err(_) => {
                        left.set(left.get() + 1);
                        return Ok(());
                    }
                }
                sleep(POLL_INTERVAL).await;
            }
        };
        let all = made.len() as u64;
        let removed = self.steps.step("removing the jobs", all, self.share(IN_FLIGHT, all, remove)).await;
        if removed.is_ok() { left.get() } else { all }
    }

    pub(super) fn client(&self, caller: u64) -> &Client {
        &self.clients[usize::try_from(caller).unwrap_or_default() % self.clients.len()]
    }

    /// Runs `work` until `total` is used up, `callers` at a time.
    pub(super) async fn share<F: Future<Output = anyhow::Result<()>>>(
        &self,
        callers: u64,
        total: u64,
        work: impl Fn(u64, u64) -> F,
    ) -> anyhow::Result<()> {
        let next = Cell::new(0);
        let caller = async |caller| {
            while next.get() < total {
                let number = next.replace(next.get() + 1);
                work(caller, number).await?;
                self.steps.count();
            }
            anyhow::Ok(())
        };
        try_join_all((0..callers.min(total)).map(caller)).await.map(drop)
    }

    /// Runs some jobs to fill caches and start engines.
    pub(super) async fn warm_up(&self) -> anyhow::Result<()> {
        self.run_and_wait(1, 100).await?;
        self.run_and_wait(64, 2000).await.map(drop)
    }

    /// Runs `jobs` jobs with `callers` callers, each waiting for one job before the next.
    pub(super) async fn run_and_wait(&self, callers: u64, jobs: u64) -> anyhow::Result<Run> {
        let times = RefCell::new(Vec::with_capacity(usize::try_from(jobs)?));
        let begun = Instant::now();
        let work = async |caller, _| {
            let known = self.made.is_some().then(|| self.job());
            let called = Instant::now();
            let result = self.client(caller).run_and_wait(known.as_ref().unwrap_or(&self.spec), Duration::from_secs(60)).await?;
            times.borrow_mut().push(called.elapsed());
            anyhow::ensure!(result.output == "42", "the server says that 40 + 2 is {}", result.output);
            Ok(())
        };
        self.share(callers, jobs, work).await?;
        let wall = begun.elapsed();
        let mut sorted = times.into_inner();
        sorted.sort_unstable();
        Ok(Run { wall, sorted })
    }

    /// Creates and starts `jobs` jobs and returns their ids.
    pub(super) async fn submit(&self, jobs: u64) -> anyhow::Result<Vec<JobId>> {
        let ids = RefCell::new(Vec::with_capacity(usize::try_from(jobs)?));
        let work = async |caller, _| {
            let client = self.client(caller);
            let known = self.made.is_some().then(|| self.job());
            let id = client.submit_job(known.as_ref().unwrap_or(&self.spec)).await?;
            ids.borrow_mut().push(id);
            Ok(())
        };
        self.share(IN_FLIGHT, jobs, work).await?;
        Ok(ids.into_inner())
    }

    /// Returns the number of jobs waiting in the queue of these jobs.
    pub(super) async fn depth(&self) -> anyhow::Result<u64> {
        let queues = self.client(0).list_queues(HOME).await?;
        let ours = |queue: &&QueueInfo| queue.script_type == self.spec.script_type && queue.group.is_none() && queue.instance.is_none();
        Ok(queues.iter().filter(ours).map(|queue| queue.depth).sum())
    }

    /// Waits until no job waits in that queue.
    pub(super) async fn wait_until_empty(&self) -> anyhow::Result<()> {
        let (mut least, mut since) = (u64::MAX, Instant::now());
        loop {
            let depth = self.depth().await?;
            if depth == 0 {
                return Ok(());
            }
            if depth < least {
                (least, since) = (depth, Instant::now());
            }
            anyhow::ensure!(since.elapsed() < STUCK_AFTER, "{depth} jobs wait, and for {} s none was taken", STUCK_AFTER.as_secs());
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Checks that every job finished.
    pub(super) async fn check(&self, ids: &[JobId]) -> anyhow::Result<()> {
        let begun = Instant::now();
        let work = async |caller, number: u64| {
            let id = &ids[usize::try_from(number)?];
            loop {
                match self.client(caller).get_status(HOME, id).await? {
                    Status::Finished => return Ok(()),
                    status if status.is_final() => anyhow::bail!("job {id} ended as {status}"),
                    status => anyhow::ensure!(begun.elapsed() < STUCK_AFTER, "job {id} is still {status}"),
                }
                sleep(POLL_INTERVAL).await;
            }
        };
        self.share(IN_FLIGHT, ids.len() as u64, work).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_a_time_that_was_measured() {
        let run = Run { wall: Duration::ZERO, sorted: (1..=100).map(Duration::from_millis).collect() };
        assert_eq!([0.0, 0.5, 0.99, 1.0].map(|share| run.quantile_ms(share)), [1.0, 51.0, 100.0, 100.0]);
        assert_eq!(Run { wall: Duration::ZERO, sorted: Vec::new() }.quantile_ms(0.5), 0.0);
    }
}
