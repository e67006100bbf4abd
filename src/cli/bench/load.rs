use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::time::sleep;

use crate::client::Client;
use crate::model::{ContextId, JobId, JobSpec, Status};

pub(super) const HOME: ContextId = ContextId(0);
/// Calls in flight while submitting and checking.
pub(super) const IN_FLIGHT: u64 = 64;
/// A server that does nothing for so long is broken.
pub(super) const STUCK: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(10);

/// Puts load on a server through one connection or several.
pub(super) struct Load {
    clients: Vec<Client>,
    pub(super) spec: JobSpec,
}

/// How long each call of a run took.
pub(super) struct Run {
    /// From the first call to the last answer.
    pub(super) wall: Duration,
    sorted: Vec<Duration>,
}

impl Run {
    /// The time within which this share of the calls was answered.
    pub(super) fn quantile_ms(&self, share: f64) -> f64 {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length is an index")]
        let at = (self.sorted.len() as f64 * share) as usize;
        self.sorted.get(at.min(self.sorted.len().saturating_sub(1))).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    }
}

impl Load {
    pub(super) fn new(clients: Vec<Client>) -> Self {
        Self { clients, spec: JobSpec { script: "40 + 2".to_owned(), ..JobSpec::default() } }
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
            }
            anyhow::Ok(())
        };
        try_join_all((0..callers.min(total)).map(caller)).await.map(drop)
    }

    /// Lets caches fill and engines start.
    pub(super) async fn warm_up(&self) -> anyhow::Result<()> {
        self.run_and_wait(1, 100).await?;
        self.run_and_wait(64, 2000).await.map(drop)
    }

    /// Runs `jobs` jobs by `callers` callers that each wait for one before the next.
    pub(super) async fn run_and_wait(&self, callers: u64, jobs: u64) -> anyhow::Result<Run> {
        let times = RefCell::new(Vec::with_capacity(usize::try_from(jobs)?));
        let begun = Instant::now();
        let work = async |caller, _| {
            let called = Instant::now();
            let result = self.client(caller).run_and_wait(&self.spec, Duration::from_secs(60)).await?;
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

    /// Creates and starts `jobs` jobs and gives their ids.
    pub(super) async fn submit(&self, jobs: u64) -> anyhow::Result<Vec<JobId>> {
        let ids = RefCell::new(Vec::with_capacity(usize::try_from(jobs)?));
        let work = async |caller, _| {
            let client = self.client(caller);
            let id = client.create_job(&self.spec).await?;
            client.start_job(HOME, &id).await?;
            ids.borrow_mut().push(id);
            Ok(())
        };
        self.share(IN_FLIGHT, jobs, work).await?;
        Ok(ids.into_inner())
    }

    /// How many jobs wait in all queues.
    pub(super) async fn depth(&self) -> anyhow::Result<u64> {
        Ok(self.client(0).list_queues(HOME).await?.iter().map(|queue| queue.depth).sum())
    }

    /// Waits until no job waits in a queue.
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
            anyhow::ensure!(since.elapsed() < STUCK, "{depth} jobs wait, and for {} s none was taken", STUCK.as_secs());
            sleep(LOOK).await;
        }
    }

    /// Makes sure that every job finished.
    pub(super) async fn check(&self, ids: &[JobId]) -> anyhow::Result<()> {
        let begun = Instant::now();
        let work = async |caller, number: u64| {
            let id = &ids[usize::try_from(number)?];
            loop {
                match self.client(caller).get_status(HOME, id).await? {
                    Status::Finished => return Ok(()),
                    status if status.is_final() => anyhow::bail!("job {id} ended as {status}"),
                    status => anyhow::ensure!(begun.elapsed() < STUCK, "job {id} is still {status}"),
                }
                sleep(LOOK).await;
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
