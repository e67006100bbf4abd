mod check;
mod death;
mod outbox;
mod sending;

use std::borrow::Cow;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdStream;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::Child as Process;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::directory::Directory;
use super::frame::{FromEngine, Inbox, ToEngine};
use super::log_room::cost;
use super::script_engine::Launch;
use super::{Answer, Died, EngineJob, EngineSettings, Error, Host, HostCall, Limits, LogRecord, Meter, RunResult};
use hero_model::{ErrorKind, JobError, Output, Usage};
use hero_process::Spawner;
use hero_process::cgroup::Group;
use hero_process::confine;
use outbox::Outbox;

/// Timeout for a new engine to become ready.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum size of an error's message, data and call stack, in bytes, far above the size of an engine's errors.
const MAX_ERROR_BYTES: usize = 256 << 10;
/// The size of the process is read after this number of jobs.
const LOOK_UP_EVERY: u64 = 64;
/// The size of the process is also read after a job that used this much memory.
const LARGE_JOB: u64 = 16 << 20;

/// An engine process, as its worker sees it. It runs one job at a time; dropping it kills it.
#[derive(Debug)]
pub struct Child {
    /// `None` once the process has been waited for.
    process: Option<Process>,
    socket: UnixStream,
    inbox: Inbox,
    outbox: Outbox,
    settings: EngineSettings,
    spawner: Spawner,
    /// The directory of a supervisor; it is removed when the supervisor has ended.
    directory: Option<Directory>,
    /// The control group of a supervisor and everything that it starts; it is removed, too.
    group: Option<Group>,
    meter: Arc<Meter>,
    confinement: String,
    started: Instant,
    jobs: u64,
    bytes: u64,
    /// False while a job runs. It stays false after a `run` that was dropped, so such an engine is not used again.
    idle: bool,
}

impl Child {
    /// Starts an engine and waits until it is ready, at most 10 seconds.
    pub async fn start(spawner: &Spawner, settings: &EngineSettings) -> Result<Self, Error> {
        let (ours, theirs) = StdStream::pair()?;
        ours.set_nonblocking(true)?;
        let Launch { mut command, directory, group } = settings.program.engine().launch(&settings.hero, &settings.limits, spawner)?;
        command.stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = Self {
            meter: Arc::default(),
            process: None,
            socket: UnixStream::from_std(ours)?,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            settings: settings.clone(),
            spawner: spawner.clone(),
            directory,
            group,
            confinement: String::new(),
            started: Instant::now(),
            jobs: 0,
            bytes: 0,
            idle: false,
        };
        // The process starts even if the caller stops waiting. Then it is ended like any other.
        let (reply, spawned) = oneshot::channel();
        let spawning = spawner.clone();
        spawner.surely(async move {
            let spawned = spawning.spawn(command).await;
            let spawned = spawned.map(|process| {
                child.meter.begin(process.id().unwrap_or_default());
                child.process = Some(process);
                child
            });
            let _ = reply.send(spawned);
        });
        let mut child = spawned.await.map_err(io::Error::other)??;
        timeout(START_TIMEOUT, child.greet()).await.map_err(|_| Error::NotReady(START_TIMEOUT))??;
        let weak = confine::left_out(&child.confinement).join(", ");
        if settings.confined && !weak.is_empty() {
            return Err(Error::Weak(weak));
        }
        child.idle = true;
        Ok(child)
    }

    async fn greet(&mut self) -> Result<(), Died> {
        let (limits, capabilities) = (Cow::Borrowed(&self.settings.limits), Cow::Borrowed(&*self.settings.capabilities));
        let program = Cow::Borrowed(&self.settings.program);
        self.outbox.put(&ToEngine::Hello { limits, capabilities, program })?;
        if self.send().await.is_err() {
            return Err(self.died().await);
        }
        loop {
            match self.inbox.take()? {
                Some(FromEngine::Ready { confinement, .. }) => {
                    self.confinement = confinement;
                    return Ok(());
                }
                Some(_) => return Err(self.broke("it spoke before it was ready").await),
                None => {
                    if !matches!(self.socket.read_buf(self.inbox.room()).await, Ok(1..)) {
                        return Err(self.died().await);
                    }
                }
            }
        }
    }

    /// Runs a job to its end, at most for its timeout and the grace period.
    ///
    /// `stop` ends it with kind `stopped`: the script has 100 ms to obey, then the engine is killed. An engine that was
    /// killed, died, or whose `run` was dropped half-way is no longer [alive](Self::is_alive). [`Died`] means that the
    /// engine died by itself; the job then has no result.
    pub async fn run(&mut self, job: &EngineJob, host: &mut impl Host, stop: &CancellationToken) -> Result<RunResult, Died> {
        self.run_in(job, false, host, stop).await
    }

    /// The same for the next line of a REPL, which sees the declarations of earlier lines. Not for an engine that runs
    /// jobs.
    pub async fn evaluate(&mut self, line: &EngineJob, host: &mut impl Host, stop: &CancellationToken) -> Result<RunResult, Died> {
        self.run_in(line, true, host, stop).await
    }

    async fn run_in(&mut self, job: &EngineJob, in_repl: bool, host: &mut impl Host, stop: &CancellationToken) -> Result<RunResult, Died> {
        if !self.idle {
            return Err(Died::new("the engine is dead or busy").without_job());
        }
        if let Some(refusal) = self.refuse(job, in_repl) {
            return Ok(refusal);
        }
        self.idle = false;
        self.jobs += 1;
        let began = Instant::now();
        // The engine itself enforces the timeout of a job. This timer only ends engines that do not.
        let mut end = pin!(sleep_until(began + job.timeout.saturating_add(self.settings.grace).min(EngineJob::MAX_RUN_TIME)));
        if self.send().await.is_err() {
            return Err(self.died().await.without_job());
        }
        let (mut stopping, mut asked, mut logged) = (false, false, 0);
        let mut answering: Option<AbortOnDropHandle<Answer>> = None;
        loop {
            match self.inbox.take() {
                Ok(None) => {}
                Ok(Some(FromEngine::Log(records))) => {
                    logged += size(&records);
                    if logged > self.log_cap() {
                        return Err(self.broke("it logged far more than its limit").await);
                    }
                    host.log(records);
                    continue;
                }
                Ok(Some(FromEngine::Ask { host_call })) => {
                    asked = true;
                    if answering.is_some() {
                        return Err(self.broke("it asked twice at once").await);
                    }
                    if host_call.size() > HostCall::MAX_BYTES {
                        return Err(self.broke("its host call is far too large").await);
                    }
                    // A separate task, so that a stop is noticed while an answer is computed.
                    answering = Some(AbortOnDropHandle::new(tokio::spawn(host.answer(host_call))));
                    continue;
                }
                Ok(Some(FromEngine::Done { result, usage, allocated })) => {
                    if !self.plausible(&result) {
                        return Err(self.broke("its result is above its limit").await);
                    }
                    if !self.inbox.is_empty() {
                        return Err(self.broke("it goes on after its job").await);
                    }
                    self.look_up_size(allocated, usage.peak_memory);
                    // If the engine did not read a whole frame, its next read would mix the rest into the next job.
                    self.idle = self.outbox.is_empty();
                    return Ok(RunResult { result, usage });
                }
                Ok(Some(FromEngine::Ready { .. } | FromEngine::Checked { .. })) => {
                    return Err(self.broke("it said what nobody asked").await);
                }
                Err(error) => return Err(self.broke(&error.to_string()).await),
            }
            // A read of less than there is room for tells tokio that nothing is left, which saves the question for each job.
            let (mut from_engine, to_engine) = self.socket.split();
            tokio::select! {
                biased;
                () = stop.cancelled(), if !stopping => {
                    stopping = true;
                    let obeyed = end.deadline().min(Instant::now() + self.settings.program.engine().obey());
                    end.as_mut().reset(obeyed);
                    // If the socket is full or closed, the engine is killed a little later.
                    self.say(&ToEngine::Stop);
                }
                () = &mut end => {
                    self.kill().await;
                    return Ok(ended(if stopping { ErrorKind::Stopped } else { ErrorKind::Timeout }, began));
                }
                () = self.outbox.is_stuck() => return Err(self.broke("it does not read its answer").await),
                answer = answered(&mut answering) => self.say_answer(answer),
                // Reading and writing must not wait for each other: an engine that writes much reads nothing until its
                // output is read.
                _ = to_engine.writable(), if !self.outbox.is_empty() => self.outbox.write(&self.socket),
                read = from_engine.read_buf(self.inbox.room()) => {
                    if !matches!(read, Ok(1..)) {
                        let died = self.died().await;
                        // A socket closed with unread data is reset. Without a stop and an answer, only the job can be
                        // unread.
                        let unread = matches!(&read, Err(error) if error.kind() == io::ErrorKind::ConnectionReset);
                        let died = if unread && !stopping && !asked { died.without_job() } else { died };
                        return match self.memory_exceeded() {
                            _ if stopping => Ok(ended(ErrorKind::Stopped, began)),
                            Some(error) => Ok(failed(error, began)),
                            None => Err(died),
                        };
                    }
                }
            }
        }
    }

    /// Whether it can run a job: it has not died, was not killed and is not running one.
    pub fn is_alive(&self) -> bool {
        // An engine sends nothing between jobs, so readable data means that it has ended.
        self.idle && matches!(self.socket.try_read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Returns when it has died, or at once if it cannot run a job.
    pub async fn death(&self) {
        while self.is_alive() {
            // An error also means that it has ended, which the next check finds.
            let _ = self.socket.readable().await;
        }
    }

    /// Whether to replace it before the next job: because of the number of its jobs, its age, or its memory.
    pub fn worn_out(&self) -> bool {
        self.jobs >= self.settings.recycle_after_jobs
            || self.started.elapsed() >= self.settings.recycle_after
            || self.bytes > self.settings.recycle_above_bytes
    }

    /// The process id of the engine.
    pub fn pid(&self) -> u32 {
        self.meter.pid()
    }

    /// The report of its confinement: `weak: no …` with the missing steps, then the steps in force.
    pub fn confinement(&self) -> &str {
        &self.confinement
    }

    /// The number of jobs that it was given.
    pub fn jobs(&self) -> u64 {
        self.jobs
    }

    /// Its size in bytes after its last job: its own count, or its resident size if that was read.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Notes its size. Reading `/proc` costs more than a small job, so this is not done after each job.
    fn look_up_size(&mut self, allocated: u64, peak: u64) {
        if self.jobs.is_multiple_of(LOOK_UP_EVERY) || peak >= LARGE_JOB {
            self.bytes = resident(self.pid()).unwrap_or_default().max(allocated);
        } else {
            self.bytes = self.bytes.max(allocated);
        }
    }

    /// Whether a result is within the limits. An engine ensures that itself, unless a script has taken it over.
    fn plausible(&self, result: &Result<Output, JobError>) -> bool {
        match result {
            Ok(output) => output.text.len() <= self.settings.limits.result,
            Err(error) => bounded(error),
        }
    }

    /// The maximum log bytes of one job before the engine is killed: twice the limit that the engine itself enforces,
    /// and a little more.
    fn log_cap(&self) -> usize {
        self.settings.limits.log.saturating_mul(2).saturating_add(Limits::TEXT).saturating_add(64 << 10)
    }
}

/// Returns the answer to the host call that the script waits for. Pending if there is none.
async fn answered(answering: &mut Option<AbortOnDropHandle<Answer>>) -> Answer {
    let Some(answer) = answering else { return std::future::pending().await };
    let answer = answer.await.unwrap_or_else(|_| Err("answering failed".to_owned()));
    *answering = None;
    answer
}

/// Whether the length of an error is one that an engine makes.
fn bounded(error: &JobError) -> bool {
    let data = error.data.as_ref().map_or(0, |data| data.as_str().len());
    error.message.len() + data + error.stack.iter().map(String::len).sum::<usize>() <= MAX_ERROR_BYTES
        && error.stack.len() <= MAX_ERROR_BYTES / 64
}

/// The result of a job whose engine had to be killed.
fn ended(kind: ErrorKind, began: Instant) -> RunResult {
    let message = if kind == ErrorKind::Stopped { "stopped_by_request" } else { "timeout" };
    failed(JobError::new(kind, message), began)
}

/// The result of a job that failed with its engine.
fn failed(error: JobError, began: Instant) -> RunResult {
    let run_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    RunResult { result: Err(error), usage: Usage { run_ms, ..Usage::default() } }
}

/// The room that records take in a log. Empty lines and frames count, too, as they take memory.
fn size(records: &[LogRecord]) -> usize {
    records.iter().map(|record| cost(&record.text)).sum::<usize>().max(cost(""))
}

/// Returns the resident size of a process, in bytes.
fn resident(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    kilobytes.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
