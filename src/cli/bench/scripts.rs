use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::load::{Load, Run};
use crate::engine::{Child, EngineJob, EngineSettings, Host, LogRecord};
use crate::model::{ContextId, JobId, JobSpec};
use crate::process::Spawner;

/// The longest that one may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The scripts: what they are called, and their text.
const SCRIPTS: [(&str, &str); 5] = [
    ("40 + 2", "40 + 2"),
    ("loop of 1,000", "let sum = 0; for i in 0..1000 { sum += i; } sum"),
    ("fib(20)", "fn fib(n) { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } } fib(20)"),
    (
        "text work",
        "let words = []; for i in 0..200 { words.push(`word ${i}`); } let text = words.join(\" \"); \
         text.to_upper().split(\" \").filter(|word| word.contains(\"1\")).len()",
    ),
    ("object set and get", "osis::set(\"bench\", #{ id: \"a\", n: 1 }); osis::get(\"bench\", \"a\").n"),
];

/// What a script costs.
#[derive(Debug, Serialize)]
pub(super) struct Script {
    /// Its name.
    pub(super) script: &'static str,
    /// One caller, through the whole system, when its engine has compiled the script before; the median, ms.
    pub(super) cached_ms: f64,
    /// The same when no engine has seen it.
    pub(super) cold_ms: f64,
    /// An engine process alone, compiled before; ms. Nothing of scripts that ask for something.
    pub(super) engine_ms: Option<f64>,
    /// What of this the engine's thread computes, from the frame that it has read to the one that it sends: the mean, µs.
    pub(super) engine_cpu_us: Option<f64>,
}

impl Load {
    /// Runs each script so many times, through the server and in an engine without one.
    pub(super) async fn scripts(&self, runs: u64) -> anyhow::Result<Vec<Script>> {
        let settings = EngineSettings::new(std::env::current_exe().context("this program does not find itself")?);
        let spawner = Spawner::start().context("cannot start the thread that starts children")?;
        let mut engine = Child::start(&spawner, &settings).await?;
        let mut measured = Vec::new();
        for (script, text) in SCRIPTS {
            let cold_ms = self.median_ms(runs, |run| format!("// {run} {}\n{text}", JobId::random())).await?;
            let cached_ms = self.median_ms(runs, |_| text.to_owned()).await?;
            let alone = if text.contains("osis::") { None } else { Some(alone(&mut engine, text, runs).await?) };
            let (engine_ms, engine_cpu_us) = alone.unzip();
            measured.push(Script { script, cached_ms, cold_ms, engine_ms, engine_cpu_us });
        }
        self.client(0).drop_collection(super::load::HOME, &"bench".parse()?).await?;
        Ok(measured)
    }

    async fn median_ms(&self, runs: u64, text: impl Fn(u64) -> String) -> anyhow::Result<f64> {
        let mut times = Vec::new();
        for run in 0..runs {
            let spec = JobSpec { script: text(run), ..JobSpec::default() };
            let begun = Instant::now();
            self.client(0).run_and_wait(&spec, PATIENCE).await?;
            times.push(begun.elapsed());
        }
        Ok(Run::of(times).quantile_ms(0.5))
    }
}

/// The median of the time that an engine takes for a script, ms, and the mean of what it computes, µs.
async fn alone(engine: &mut Child, text: &str, runs: u64) -> anyhow::Result<(f64, f64)> {
    let job = EngineJob {
        job_id: JobId::random(),
        caller_id: "bench".to_owned(),
        context_id: ContextId(0),
        attempt: 1,
        script: text.to_owned(),
        args: None,
        env: BTreeMap::new(),
        timeout: PATIENCE,
    };
    let (mut times, mut computed, stop) = (Vec::new(), 0, CancellationToken::new());
    for _ in 0..runs {
        let begun = Instant::now();
        let outcome = engine.run(&job, &mut Nobody, &stop).await.context("the engine died")?;
        times.push(begun.elapsed());
        computed += outcome.usage.cpu_us;
        outcome.result.map_err(|error| anyhow::anyhow!("{text}: {}", error.message))?;
    }
    Ok((Run::of(times).quantile_ms(0.5), computed as f64 / runs as f64))
}

/// Nobody listens.
struct Nobody;

impl Host for Nobody {
    fn log(&mut self, _: Vec<LogRecord>) {}
}
