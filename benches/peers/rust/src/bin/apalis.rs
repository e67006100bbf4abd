//! apalis-redis under the same load: `apalis PORT worker | submit JOBS | bulk JOBS | wait JOBS CALLERS`.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use apalis::prelude::*;
use apalis_redis::{Config, RedisStorage};
use hero_bench_peers::{Add, Arguments, IN_FLIGHT, SUM, checked, measure_waits, print_rate, share};
use tokio::time::Sleep;
use ulid::Ulid;

/// How often a worker looks for jobs, and a caller for its result.
const TICK: Duration = Duration::from_millis(1);
/// Jobs that a worker takes, and `bulk` adds, in one call: larger ones were not faster.
const BATCH: usize = 100;

/// Wakes the worker each [`TICK`].
///
/// The interval of apalis-core 1.0.0 can replace its timer without polling the new one, when a fetch takes longer than
/// the interval. Then nothing wakes the worker before the next heartbeat, 30 s later.
#[derive(Default)]
struct Ticks(Option<Pin<Box<Sleep>>>);

impl PollStrategy for Ticks {
    fn poll_drive(&mut self, context: &mut Context<'_>, _: &PollSnapshot) -> Poll<Option<()>> {
        let timer = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep(TICK)));
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        // The next poll arms it for this task again: until the timer is pending, the worker is polled.
        timer.set(tokio::time::sleep(TICK));
        context.waker().wake_by_ref();
        Poll::Ready(Some(()))
    }
}

async fn add(job: Add) -> Result<i64, BoxDynError> {
    Ok(job.a + job.b)
}

async fn storage(port: u16) -> Result<RedisStorage<Add>> {
    let connection = apalis_redis::connect(format!("redis://127.0.0.1:{port}/")).await?;
    Ok(RedisStorage::new(connection).with_config(Config::default().queue("bench").batch_size(BATCH)))
}

/// Adds a job and asks for its result each [`TICK`]. The own `wait_for` of apalis-redis asks each 100 ms.
async fn run_and_wait(mut storage: RedisStorage<Add>) -> Result<()> {
    let id = TaskId::from_ulid(Ulid::generate());
    storage.push_task(TaskBuilder::new(SUM).task_id(id.clone()).build()).await?;
    loop {
        let mut done = WaitForCompletion::<i64>::check_status(&mut storage, [id.clone()]).await?;
        if let Some(result) = done.pop() {
            return match result.take() {
                Ok(value) => checked(value),
                Err(error) => bail!("a job failed: {error}"),
            };
        }
        tokio::time::sleep(TICK).await;
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::read()?;
    let mut storage = storage(arguments.port).await?;
    match arguments.mode.as_str() {
        "worker" => {
            let backend = storage.poll_with_strategy(Ticks::default());
            WorkerBuilder::new("bench").backend(backend).parallelize(tokio::spawn).build(add).run().await?;
        }
        "submit" => {
            let (jobs, begun) = (arguments.number(0)?, Instant::now());
            let push = move || {
                let mut storage = storage.clone();
                async move { Ok(storage.push(SUM).await?) }
            };
            share(IN_FLIGHT, jobs, push).await?;
            print_rate(jobs, begun);
        }
        "bulk" => {
            let (jobs, begun) = (arguments.number(0)?, Instant::now());
            for from in (0..jobs).step_by(BATCH) {
                storage.push_bulk(vec![SUM; BATCH.min(jobs - from)]).await?;
            }
            print_rate(jobs, begun);
        }
        "wait" => {
            let (jobs, callers) = (arguments.number(0)?, arguments.number(1)?);
            measure_waits(callers, jobs, move || run_and_wait(storage.clone())).await?;
        }
        other => bail!("{other} is no mode"),
    }
    Ok(())
}
