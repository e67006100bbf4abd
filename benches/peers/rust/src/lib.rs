//! The parts that the peers in Rust share: the arguments, callers in parallel, and the line of JSON that `run.py` reads.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// Calls in flight of `submit`.
pub const IN_FLIGHT: usize = 64;
/// Jobs that run before `wait` measures.
const WARM_UP: usize = 200;
/// How long a caller waits for its result.
const PATIENCE: Duration = Duration::from_secs(60);

/// The job: a sum.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Add {
    pub a: i64,
    pub b: i64,
}

/// The sum that every job is.
pub const SUM: Add = Add { a: 40, b: 2 };

/// The arguments of the command line: `PORT MODE NUMBER…`.
pub struct Arguments {
    pub port: u16,
    pub mode: String,
    numbers: Vec<usize>,
}

impl Arguments {
    /// Reads the command line.
    pub fn read() -> Result<Self> {
        let mut words = std::env::args().skip(1);
        let port = words.next().context("the port of Redis is missing")?.parse()?;
        let mode = words.next().context("the mode is missing")?;
        Ok(Self { port, mode, numbers: words.map(|word| word.parse()).collect::<Result<_, _>>()? })
    }

    /// The number at this place after the mode.
    pub fn number(&self, at: usize) -> Result<usize> {
        self.numbers.get(at).copied().with_context(|| format!("{} needs more numbers", self.mode))
    }
}

/// The value of a job, if it is right.
pub fn checked(value: i64) -> Result<()> {
    if value != 42 {
        bail!("40 + 2 is {value}");
    }
    Ok(())
}

/// Runs `work` `total` times, `callers` at a time, and says how long each took.
pub async fn share<W, F>(callers: usize, total: usize, work: W) -> Result<Vec<Duration>>
where
    W: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let taken = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let (taken, work) = (taken.clone(), work.clone());
            tokio::spawn(async move {
                let mut times = Vec::new();
                while taken.fetch_add(1, Ordering::Relaxed) < total {
                    let called = Instant::now();
                    work().await?;
                    times.push(called.elapsed());
                }
                anyhow::Ok(times)
            })
        })
        .collect();
    let mut times = Vec::with_capacity(total);
    for caller in callers {
        times.extend(caller.await??);
    }
    Ok(times)
}

/// Prints how many jobs a second this is.
pub fn print_rate(jobs: usize, begun: Instant) {
    println!("{{\"per_s\": {}}}", jobs as f64 / begun.elapsed().as_secs_f64());
}

/// Measures `work`, which adds a job and waits for its result, and prints what `wait` of every peer prints.
pub async fn measure_waits<W, F>(callers: usize, jobs: usize, work: W) -> Result<()>
where
    W: Fn() -> F + Clone + Send + 'static,
    F: Future<Output = Result<()>> + Send + 'static,
{
    let work = move || {
        let answer = tokio::time::timeout(PATIENCE, work());
        async move { answer.await.context("a result did not come")? }
    };
    share(callers, jobs.min(WARM_UP), work.clone()).await?;
    let begun = Instant::now();
    let mut times = share(callers, jobs, work).await?;
    let per_s = jobs as f64 / begun.elapsed().as_secs_f64();
    times.sort();
    let at = |part: f64| times[((times.len() as f64 * part) as usize).min(times.len() - 1)].as_secs_f64() * 1000.0;
    println!("{{\"per_s\": {per_s}, \"p50_ms\": {}, \"p95_ms\": {}, \"p99_ms\": {}}}", at(0.5), at(0.95), at(0.99));
    Ok(())
}
