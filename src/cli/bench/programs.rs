use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::load::Run;

/// Timeout for one process.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(60);
/// The number of measured processes. More would take too long, because one takes as long as thousands of jobs.
const MEASURED_PROCESSES: u64 = 20;

/// A program that runs a script given as an argument, as many servers do for each job.
pub(super) struct Interpreter {
    program: PathBuf,
    /// The flag before the script.
    flag: &'static str,
}

impl Interpreter {
    /// Returns the Python of this machine, if there is one.
    pub(super) async fn python() -> Option<Self> {
        Self::find("python3", "-c", "import sys; print(sys.executable)").await
    }

    /// Returns the Node.js of this machine, if there is one.
    pub(super) async fn node() -> Option<Self> {
        Self::find("node", "-e", "console.log(process.execPath)").await
    }

    /// Asks for the file of the interpreter, because the program in PATH may be a wrapper that searches for it each
    /// time.
    async fn find(name: &str, flag: &'static str, asking: &str) -> Option<Self> {
        let of_path = Self { program: name.into(), flag };
        let program = PathBuf::from(of_path.run(asking).await.ok()?.trim());
        program.is_absolute().then_some(Self { program, flag })
    }

    /// Returns the median time of a process, in ms. The process must print `expected`.
    pub(super) async fn median_ms(&self, script: &str, expected: &str, runs: u64) -> anyhow::Result<f64> {
        let mut times = Vec::new();
        for _ in 0..runs.min(MEASURED_PROCESSES) {
            let begun = Instant::now();
            let printed = self.run(script).await?;
            times.push(begun.elapsed());
            anyhow::ensure!(printed.trim() == expected, "{} gives {printed:?}, not {expected}", self.program.display());
        }
        Ok(Run::of(times).quantile_ms(0.5))
    }

    async fn run(&self, script: &str) -> anyhow::Result<String> {
        printed(&self.program, [self.flag, script]).await
    }
}

/// Returns the time of Rhai alone for a script, in µs, as reported by a program (`benches/bare.rs`).
pub(super) async fn bare_us(program: &Path, script: &str, runs: u64) -> anyhow::Result<f64> {
    let text = printed(program, [&runs.to_string(), script]).await?;
    text.trim().parse().with_context(|| format!("{} does not print a number but {text:?}", program.display()))
}

/// Returns the output of a program.
async fn printed(program: &Path, arguments: [&str; 2]) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    let ended = timeout(PROCESS_TIMEOUT, command.output()).await?.with_context(|| format!("{} cannot be run", program.display()))?;
    anyhow::ensure!(ended.status.success(), "{} ended with {}", program.display(), ended.status);
    Ok(String::from_utf8_lossy(&ended.stdout).into_owned())
}
