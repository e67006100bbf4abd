use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::load::{Load, Run};
use super::programs::{self, Interpreter};
use crate::engine::{Child, EngineJob, EngineSettings, Host, LogRecord};
use crate::model::{ContextId, JobId, JobSpec, ScriptType};
use crate::process::Spawner;

/// Timeout for one script.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of concurrent jobs when the rate of empty Python jobs is measured.
const PYTHON_CALLERS: u64 = 16;

/// A script, and its equivalents for other interpreters.
struct Case {
    /// The name.
    name: &'static str,
    text: &'static str,
    /// The expected output.
    output: &'static str,
    python: Option<&'static str>,
    node: Option<&'static str>,
}

const CASES: [Case; 5] = [
    Case { name: "40 + 2", text: "40 + 2", output: "42", python: Some("print(40 + 2)"), node: Some("console.log(40 + 2)") },
    Case {
        name: "loop of 1,000",
        text: "let sum = 0; for i in 0..1000 { sum += i; } sum",
        output: "499500",
        python: Some("sum = 0\nfor i in range(1000):\n    sum += i\nprint(sum)"),
        node: Some("let sum = 0; for (let i = 0; i < 1000; i++) sum += i; console.log(sum)"),
    },
    Case {
        name: "fib(20)",
        text: "fn fib(n) { if n < 2 { n } else { fib(n - 1) + fib(n - 2) } } fib(20)",
        output: "6765",
        python: Some("def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nprint(fib(20))"),
        node: Some("const fib = n => n < 2 ? n : fib(n - 1) + fib(n - 2); console.log(fib(20))"),
    },
    Case {
        name: "text work",
        text: "let words = []; for i in 0..200 { words.push(`word ${i}`); } let text = words.join(\" \"); \
             text.to_upper().split(\" \").filter(|word| word.contains(\"1\")).len()",
        output: "119",
        python: Some(
            "words = [f'word {i}' for i in range(200)]\ntext = ' '.join(words).upper()\nprint(len([word for word in text.split(' ') if '1' in word]))",
        ),
        node: Some(
            "const words = []; for (let i = 0; i < 200; i++) words.push(`word ${i}`); const text = words.join(' ').toUpperCase(); \
             console.log(text.split(' ').filter(word => word.includes('1')).length)",
        ),
    },
    Case {
        name: "object set and get",
        text: "osis::set(\"bench\", #{ id: \"a\", n: 1 }); osis::get(\"bench\", \"a\").n",
        output: "1",
        python: None,
        node: None,
    },
];

/// The times of a script.
#[derive(Debug, Serialize)]
pub(super) struct Script {
    /// The name.
    pub(super) script: &'static str,
    /// The median through the whole system, by one caller and with the script already compiled by its engine, in ms.
    pub(super) cached_ms: f64,
    /// The same for a script that no engine has seen.
    pub(super) cold_ms: f64,
    /// The time of an engine process alone with the script already compiled, in ms. Not measured for scripts with host
    /// calls.
    pub(super) engine_ms: Option<f64>,
    /// The same for a script that the engine has not seen.
    pub(super) engine_cold_ms: Option<f64>,
    /// The mean processor time of the engine's thread for a compiled script, from the frame it has read to the one it
    /// sends, in µs.
    pub(super) engine_cpu_us: Option<f64>,
    /// The mean time of Rhai alone without limits, in µs, if a program for this was given.
    pub(super) bare_us: Option<f64>,
    /// The median time of an equivalent Python process, from start to end, in ms.
    pub(super) python_ms: Option<f64>,
    /// The same for Node.js.
    pub(super) node_ms: Option<f64>,
}

/// The times of empty Python jobs.
#[derive(Debug, Serialize)]
pub(super) struct Python {
    /// The median of one caller, one job after another, in ms.
    pub(super) job_ms: f64,
    /// The same with a new script each time.
    pub(super) new_ms: f64,
    /// Jobs per second of 16 callers.
    pub(super) per_s: f64,
    /// The median time of a Python process that does nothing, from start to end, in ms.
    pub(super) process_ms: f64,
}

impl Python {
    /// Whether this machine has Python.
    pub(super) async fn is_here() -> bool {
        Interpreter::python().await.is_some()
    }
}

impl Load {
    /// Runs each script `runs` times, through the server and in an engine alone. `bare` is a program that runs them
    /// with Rhai alone, if given.
    pub(super) async fn scripts(&self, runs: u64, bare: Option<&Path>) -> anyhow::Result<Vec<Script>> {
        let settings = EngineSettings::new(std::env::current_exe().context("this program does not find itself")?);
        let spawner = Spawner::start().context("cannot start the thread that starts children")?;
        let mut engine = Child::start(&spawner, &settings).await?;
        let (python, node) = (Interpreter::python().await, Interpreter::node().await);
        let mut measured = Vec::new();
        for Case { name, text, output, python: in_python, node: in_node } in CASES {
            let of_osis = |script| JobSpec { script, ..JobSpec::default() };
            let cold_ms = self.median_ms(runs, output, |run| of_osis(new(run, "//", text))).await?;
            let cached_ms = self.median_ms(runs, output, |_| of_osis(text.to_owned())).await?;
            let mut script = Script {
                script: name,
                cached_ms,
                cold_ms,
                engine_ms: None,
                engine_cold_ms: None,
                engine_cpu_us: None,
                bare_us: None,
                python_ms: process(python.as_ref(), in_python, output, runs).await?,
                node_ms: process(node.as_ref(), in_node, output, runs).await?,
            };
            // An engine alone has no host for objects.
            if !text.contains("osis::") {
                script.engine_cold_ms = Some(alone(&mut engine, runs, |run| new(run, "//", text)).await?.0);
                (script.engine_ms, script.engine_cpu_us, script.bare_us) = beside(&mut engine, bare, text, runs).await?;
            }
            measured.push(script);
        }
        self.client(0).drop_collection(super::load::HOME, &"bench".parse()?).await?;
        Ok(measured)
    }

    /// Runs `runs` empty Python jobs.
    pub(super) async fn python(&self, runs: u64) -> anyhow::Result<Python> {
        let interpreter = Interpreter::python().await.context("this machine has no python3 any more")?;
        let script_type: ScriptType = ScriptType::PYTHON.parse()?;
        let in_python = |script| JobSpec { script, script_type: script_type.clone(), ..JobSpec::default() };
        let empty = || in_python("pass".to_owned());
        self.median_ms(5, "", |_| empty()).await?;
        let job_ms = self.median_ms(runs, "", |_| empty()).await?;
        let new_ms = self.median_ms(runs, "", |run| in_python(new(run, "#", "pass"))).await?;
        let begun = Instant::now();
        let job = async |caller, _| {
            self.client(caller).run_and_wait(&empty(), SCRIPT_TIMEOUT).await?;
            Ok(())
        };
        self.share(PYTHON_CALLERS, 2 * runs, job).await?;
        let per_s = 2.0 * runs as f64 / begun.elapsed().as_secs_f64();
        let process_ms = interpreter.median_ms("pass", "", runs).await?;
        Ok(Python { job_ms, new_ms, per_s, process_ms })
    }

    async fn median_ms(&self, runs: u64, output: &str, job: impl Fn(u64) -> JobSpec) -> anyhow::Result<f64> {
        let mut times = Vec::new();
        for run in 0..runs {
            let spec = job(run);
            let begun = Instant::now();
            let result = self.client(0).run_and_wait(&spec, SCRIPT_TIMEOUT).await?;
            times.push(begun.elapsed());
            anyhow::ensure!(result.output == output, "the server says {:?}, not {output}: {}", result.output, spec.script);
        }
        Ok(Run::of(times).quantile_ms(0.5))
    }
}

/// Returns a script that no engine has seen, by adding a comment.
fn new(run: u64, comment: &str, text: &str) -> String {
    format!("{comment} {run} {}\n{text}", JobId::random())
}

async fn process(interpreter: Option<&Interpreter>, script: Option<&str>, output: &str, runs: u64) -> anyhow::Result<Option<f64>> {
    match interpreter.zip(script) {
        Some((interpreter, script)) => Ok(Some(interpreter.median_ms(script, output, runs).await?)),
        None => Ok(None),
    }
}

/// The number of turns between an engine and Rhai alone, so that other load on the machine affects both.
const TURNS: usize = 10;
/// The maximum duration of a turn.
const MAX_TURN_TIME: Duration = Duration::from_millis(150);

/// Returns the times for a compiled script: of an engine in ms, of its computation in µs, and of Rhai alone in µs. Each
/// is the least of several turns.
async fn beside(engine: &mut Child, bare: Option<&Path>, text: &str, runs: u64) -> anyhow::Result<(Option<f64>, Option<f64>, Option<f64>)> {
    let mut least = [f64::INFINITY; 3];
    for _ in 0..TURNS {
        let (median_ms, cpu_us) = alone(engine, runs, |_| text.to_owned()).await?;
        let bare_us = match bare {
            Some(program) => programs::bare_us(program, text, runs).await?,
            None => f64::INFINITY,
        };
        for (least, figure) in least.iter_mut().zip([median_ms, cpu_us, bare_us]) {
            *least = least.min(figure);
        }
    }
    let [median_ms, cpu_us, bare_us] = least;
    Ok((Some(median_ms), Some(cpu_us), bare.map(|_| bare_us)))
}

/// Returns the median time of an engine for a script in ms, and the mean of its computation in µs, over `runs` runs, or
/// fewer if a turn ends.
async fn alone(engine: &mut Child, runs: u64, text: impl Fn(u64) -> String) -> anyhow::Result<(f64, f64)> {
    let (mut times, mut computed, stop) = (Vec::new(), 0, CancellationToken::new());
    let first = Instant::now();
    for run in 0..runs {
        if run > 0 && first.elapsed() > MAX_TURN_TIME {
            break;
        }
        let job = EngineJob {
            job_id: JobId::random(),
            caller_id: "bench".to_owned(),
            context_id: ContextId(0),
            attempt: 1,
            script: text(run),
            args: None,
            env: BTreeMap::new(),
            timeout: SCRIPT_TIMEOUT,
        };
        let begun = Instant::now();
        let outcome = engine.run(&job, &mut Nobody, &stop).await.context("the engine died")?;
        times.push(begun.elapsed());
        computed += outcome.usage.cpu_us;
        outcome.result.map_err(|error| anyhow::anyhow!("{}: {}", job.script, error.message))?;
    }
    let mean = computed as f64 / times.len().max(1) as f64;
    Ok((Run::of(times).quantile_ms(0.5), mean))
}

/// A host that ignores everything.
struct Nobody;

impl Host for Nobody {
    fn log(&mut self, _: Vec<LogRecord>) {}
}
