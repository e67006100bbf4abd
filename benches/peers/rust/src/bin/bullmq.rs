//! BullMQ's own port to Rust under the same load: `bullmq PORT worker CONCURRENCY | submit JOBS | bulk JOBS |
//! chain LINKS | wait JOBS CALLERS`.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use bullmq::options::RedisConnectionOptions;
use bullmq::worker::CancellationToken;
use bullmq::{
    BulkJob, FlowJob, FlowProducer, FlowProducerOptions, Job, JobOptions, Queue, QueueEvent, QueueEvents, QueueEventsOptions, QueueOptions,
    Worker, WorkerOptions,
};
use hero_bench_peers::{Add, Arguments, IN_FLIGHT, SUM, checked, measure_waits, print_rate, share};
use tokio::sync::oneshot;

const NAME: &str = "bench";
/// Jobs of one call of `bulk`.
const GROUP: usize = 1000;

/// The callers that wait, by the id of their job.
///
/// The port has no call that waits for one job, as `waitUntilFinished` of BullMQ does; it has the events behind it.
#[derive(Clone)]
struct Waiters {
    waiting: Arc<Mutex<HashMap<String, oneshot::Sender<Result<String>>>>>,
    added: Arc<AtomicUsize>,
    prefix: u32,
}

impl Waiters {
    /// Follows the events of the queue until the program ends.
    async fn start(connection: RedisConnectionOptions) -> Result<Self> {
        // From the first event on: it connects later, and would miss what comes before.
        let options = QueueEventsOptions { connection, last_event_id: Some("0".into()), ..Default::default() };
        let events = QueueEvents::with_options(NAME, options).await?;
        let waiters = Self { waiting: Arc::default(), added: Arc::default(), prefix: std::process::id() };
        let told = waiters.clone();
        tokio::spawn(async move {
            while let Some(entry) = events.next_event().await {
                match entry.event {
                    QueueEvent::Completed { job_id, return_value, .. } => told.tell(&job_id, Ok(return_value)),
                    QueueEvent::Failed { job_id, failed_reason, .. } => {
                        told.tell(&job_id, Err(anyhow::anyhow!("a job failed: {failed_reason}")));
                    }
                    _ => {}
                }
            }
        });
        Ok(waiters)
    }

    /// An id for a job that is yet to be added, so that its event cannot come too early, and what tells its end.
    fn next(&self) -> (String, oneshot::Receiver<Result<String>>) {
        let id = format!("{}-{}", self.prefix, self.added.fetch_add(1, Ordering::Relaxed));
        let (teller, told) = oneshot::channel();
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), teller);
        (id, told)
    }

    fn tell(&self, id: &str, value: Result<String>) {
        if let Some(teller) = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(id) {
            // A caller that is gone needs no answer.
            let _ = teller.send(value);
        }
    }
}

async fn run_and_wait(queue: Arc<Queue>, waiters: Waiters) -> Result<()> {
    let (id, told) = waiters.next();
    queue.add("add", SUM).job_id(id).await?;
    checked(told.await.context("the events ended")??.parse()?)
}

/// Jobs of which each waits for the one before; the time runs from the start of the first to the end of the last.
async fn chain(queue: &Queue, connection: RedisConnectionOptions, links: usize) -> Result<()> {
    let waiters = Waiters::start(connection.clone()).await?;
    let (last, told) = waiters.next();
    queue.pause().await?;
    let mut flow = FlowJob::new("add", NAME, SUM)?;
    for more in 1..links {
        let link = FlowJob::new("add", NAME, SUM)?;
        let link = if more == links - 1 { link.options(JobOptions { job_id: Some(last.clone()), ..Default::default() }) } else { link };
        flow = link.add_child(flow);
    }
    FlowProducer::with_options(FlowProducerOptions::new().connection(connection)).await?.add(flow).await?;
    let begun = Instant::now();
    queue.resume().await?;
    checked(told.await.context("the events ended")??.parse()?)?;
    print_rate(links, begun);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let connection = RedisConnectionOptions::new().host("127.0.0.1").port(arguments.port);
    if arguments.mode == "worker" {
        let options = WorkerOptions::new().connection(connection).concurrency(arguments.number(0)?);
        let add = |job: Job, _: CancellationToken| async move {
            let Add { a, b } = serde_json::from_value(job.data().clone())?;
            Ok::<_, bullmq::Error>(serde_json::json!(a + b))
        };
        let _worker = Worker::with_options(NAME, add, options).await?;
        return std::future::pending().await;
    }
    let queue = Arc::new(Queue::with_options(NAME, QueueOptions::new().connection(connection.clone())).await?);
    let jobs = arguments.number(0)?;
    match arguments.mode.as_str() {
        "submit" => {
            let begun = Instant::now();
            let push = move || {
                let queue = queue.clone();
                async move { Ok(queue.add("add", SUM).await.map(drop)?) }
            };
            share(IN_FLIGHT, jobs, push).await?;
            print_rate(jobs, begun);
        }
        "bulk" => {
            let begun = Instant::now();
            for from in (0..jobs).step_by(GROUP) {
                queue.add_bulk((from..jobs.min(from + GROUP)).map(|_| BulkJob::new("add", SUM)).collect()).await?;
            }
            print_rate(jobs, begun);
        }
        "chain" => chain(&queue, connection, jobs).await?,
        "wait" => {
            let waiters = Waiters::start(connection).await?;
            measure_waits(arguments.number(1)?, jobs, move || run_and_wait(queue.clone(), waiters.clone())).await?;
        }
        other => bail!("{other} is no mode"),
    }
    Ok(())
}
