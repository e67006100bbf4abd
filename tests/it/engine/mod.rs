//! Engines: the environment of scripts, their limits, and the behavior when limits do not suffice.
#![expect(clippy::unwrap_used, reason = "a test that can't go on shall say so")]

mod breakouts;
mod check;
mod child;
mod command;
mod confinement;
mod constants;
mod functions;
mod held;
mod heroscript;
mod host_calls;
mod hostile;
mod limits;
mod python;
mod python_ends;
mod python_inside;
mod reference;
mod room;
mod scripts;
mod syscall;
mod v;

use std::path::PathBuf;
use std::time::Duration;

use hero::engine::{Child, EngineJob, EngineSettings, Error, Host, LogRecord, RunResult};
use hero::model::{ContextId, ErrorKind, JobError, JobId, Limit};
use hero::process::Spawner;
use tokio_util::sync::CancellationToken;

/// A separate engine for a test, and the log of its scripts.
struct Bench {
    settings: EngineSettings,
    spawner: Spawner,
    child: Child,
    stop: CancellationToken,
    log: Log,
}

#[derive(Default)]
struct Log(Vec<LogRecord>);

impl Host for Log {
    fn log(&mut self, records: Vec<LogRecord>) {
        self.0.extend(records);
    }
}

impl Log {
    fn texts(&self) -> Vec<&str> {
        self.0.iter().map(|record| record.text.as_str()).collect()
    }
}

impl Bench {
    async fn start() -> Self {
        Self::with(settings()).await
    }

    async fn with(settings: EngineSettings) -> Self {
        let spawner = Spawner::start().unwrap();
        let mut child = Child::start(&spawner, &settings).await;
        // Other tests fill the disk and start as many processes as they may. A pool tries again, too.
        for _ in 0..3 {
            if let Err(Error::NotReady(_)) = child {
                child = Child::start(&spawner, &settings).await;
            }
        }
        let child = child.unwrap();
        Self { settings, spawner, child, stop: CancellationToken::new(), log: Log::default() }
    }

    /// Starts another engine if this one was ended: on a machine that does much else it may take so long to end all that a job has started that it
    /// is ended, too.
    async fn revive(&mut self) {
        if !self.child.is_alive() {
            self.child = Child::start(&self.spawner, &self.settings).await.unwrap();
        }
    }

    async fn run(&mut self, script: &str) -> RunResult {
        self.run_job(&job(script)).await
    }

    async fn run_job(&mut self, job: &EngineJob) -> RunResult {
        let ended = self.child.run(job, &mut self.log, &self.stop).await;
        ended.unwrap_or_else(|died| panic!("{}: {died}", job.script))
    }

    /// The text a script returns.
    async fn text(&mut self, script: &str) -> String {
        self.run(script).await.result.unwrap_or_else(|error| panic!("{script}: {error:?}")).text
    }

    /// The error a script ends with.
    async fn error(&mut self, script: &str) -> JobError {
        self.run(script).await.result.expect_err(script)
    }

    /// Expects that a script hits a limit and that the engine goes on.
    async fn hits(&mut self, limit: Limit, script: &str) -> JobError {
        let error = self.error(script).await;
        assert_eq!((error.kind, error.limit), (ErrorKind::Limit, Some(limit)), "{script}: {error:?}");
        assert_eq!(self.text("40 + 2").await, "42");
        error
    }
}

fn hero() -> PathBuf {
    env!("CARGO_BIN_EXE_hero").into()
}

fn settings() -> EngineSettings {
    EngineSettings::new(hero())
}

fn job(script: &str) -> EngineJob {
    EngineJob {
        job_id: JobId::random(),
        caller_id: "alice".into(),
        context_id: ContextId(7),
        attempt: 1,
        script: script.into(),
        args: None,
        env: [("LANG".to_owned(), "de".to_owned())].into(),
        // Bombs of other tests may keep this one from its turn for a while.
        timeout: Duration::from_secs(120),
    }
}

/// Whether a process exists, be it a zombie.
fn exists(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// The process that starts those of jobs: that of the engine, or, where there is a PID namespace with a `/proc` of its own, the first one in it, for
/// which that of the engine only waits.
fn supervisor(engine: u32) -> u32 {
    let children = std::fs::read_to_string(format!("/proc/{engine}/task/{engine}/children")).unwrap_or_default();
    let is_it = |pid: &&str| std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default().ends_with(b"\0supervisor\0");
    children.split_whitespace().find(is_it).map_or(engine, |pid| pid.parse().unwrap())
}

/// The processes of jobs by the numbers that they have for each other, which are those of a namespace of their own where there is one.
#[derive(Debug, Clone)]
struct Numbers(PathBuf);

impl Numbers {
    /// Of the jobs of a supervisor.
    fn below(supervisor: u32) -> Self {
        Self(std::fs::read_link(format!("/proc/{supervisor}/ns/pid_for_children")).unwrap())
    }

    /// The number of a process for us, while it exists.
    fn outside(&self, number: u32) -> Option<u32> {
        let is_it = |pid: &u32| {
            let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
            numbers.split_whitespace().last() == Some(&number.to_string())
                && std::fs::read_link(format!("/proc/{pid}/ns/pid")).is_ok_and(|namespace| namespace == self.0)
        };
        let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        pids.into_iter().find(is_it)
    }

    fn exists(&self, number: u32) -> bool {
        self.outside(number).is_some()
    }
}

/// Waits until `done`, a generous time at most.
async fn until(what: &str, mut done: impl FnMut() -> bool) {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    for _ in 0..4000 {
        if done() {
            return;
        }
        tick.tick().await;
    }
    panic!("never: {what}");
}
