use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use rand::random;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::host::{CallingJob, JobHost};
use super::job_log::JobLog;
use super::settings::PoolSettings;
use super::status::PoolStatus;
use super::store_retry::StoreRetry;
use crate::dispatch::Dispatcher;
use hero_engine::{Child, EngineJob, environment};
use hero_model::{Backoff, ErrorKind, JobError, JobSpec, Seconds, Secrets, exact};
use hero_process::Spawner;
use hero_sal::AttemptResources;
use hero_service::away;
use hero_store::{AttemptEnd, Claimed, Ended, SpeculativeRun, Store};

/// A job for an actor.
pub(super) struct Work {
    pub(super) job: Claimed,
    pub(super) stop: CancellationToken,
}

/// A message from a worker to its fetcher.
pub(super) enum Report {
    /// Its engine is ready.
    Ready { actor: usize, worker: usize },
    /// Its engine was idle and has ended. Another one starts for the next job.
    EngineIdle { actor: usize, worker: usize },
    /// A job ended. `ready` is true if the worker can take the next one at once.
    Done { actor: usize, worker: usize, ended: Box<Ended>, ran: Duration, ready: bool },
    /// The worker panicked and has ended.
    Failed { actor: usize, worker: usize },
}

/// Runs jobs in one engine process after another. An actor has one worker, or several while concurrent jobs run.
pub(super) struct Worker {
    /// The index of its actor in the pool.
    pub(super) actor: usize,
    /// Its index in the actor. All workers but the first end after some idle time. The first worker ends only its
    /// engine then, and starts another for the next job; the first worker of the pool's first actor keeps its engine.
    pub(super) worker: usize,
    pub(super) store: Store,
    pub(super) dispatcher: Dispatcher,
    pub(super) spawner: Spawner,
    pub(super) settings: Arc<PoolSettings>,
    pub(super) status: Arc<PoolStatus>,
    pub(super) work: mpsc::Receiver<Work>,
    /// A job that waits for an engine to start.
    pub(super) next: Option<Work>,
    pub(super) reports: mpsc::Sender<Report>,
}

/// Pause before another try to start an engine, at first and at most.
const RESTART_BACKOFF: Backoff = Backoff { first: Duration::from_millis(100), longest: Duration::from_secs(5) };

impl Worker {
    /// Runs until the fetcher ends. If the worker panics, it reports that to the fetcher.
    pub(super) async fn supervised(self) {
        let (actor, worker, reports) = (self.actor, self.worker, self.reports.clone());
        if AssertUnwindSafe(self.run()).catch_unwind().await.is_err() {
            // If the fetcher has ended, nobody receives the report.
            let _ = reports.send(Report::Failed { actor, worker }).await;
        }
    }

    async fn run(mut self) {
        'engines: loop {
            let Some(mut engine) = self.start_engine().await else { return };
            self.status.engine(self.actor, self.worker, engine.meter(), engine.confinement());
            if self.reports.send(Report::Ready { actor: self.actor, worker: self.worker }).await.is_err() {
                return;
            }
            let mut successor: Option<JoinHandle<Option<Child>>> = None;
            loop {
                let idle = self.settings.engine_idle;
                let work = match self.next.take() {
                    Some(work) => Some(work),
                    None => tokio::select! {
                        biased;
                        // If an engine dies between jobs, no job loses an attempt.
                        () = engine.death() => continue 'engines,
                        work = self.work.recv() => work,
                        () = tokio::time::sleep(idle), if !idle.is_zero() && self.worker > 0 => {
                            // A job that was sent just before still runs.
                            self.work.close();
                            self.work.recv().await
                        }
                        () = tokio::time::sleep(idle), if !idle.is_zero() && self.worker == 0 && self.actor > 0 => {
                            drop((engine, successor));
                            self.status.engine_ended(self.actor, self.worker);
                            if self.reports.send(Report::EngineIdle { actor: self.actor, worker: self.worker }).await.is_err() {
                                return;
                            }
                            self.next = self.work.recv().await;
                            match self.next {
                                Some(_) => continue 'engines,
                                None => return,
                            }
                        }
                    },
                };
                let Some(work) = work else {
                    self.status.engine_ended(self.actor, self.worker);
                    return;
                };
                let began = Instant::now();
                if !self.settings.has_limits(engine.limits())
                    && let Ok(fresh) = Child::start(&self.spawner, &self.settings.engine_now()).await
                {
                    (engine, successor) = (fresh, None);
                    self.status.engine(self.actor, self.worker, engine.meter(), engine.confinement());
                }
                let ended = tokio::select! {
                    ended = self.attempt(&mut engine, &work) => ended,
                    // The fetcher has requeued the job and ended, so a result would be refused.
                    () = self.reports.closed() => return,
                };
                if let Some(run) = &work.job.speculation {
                    run.hand_over(&ended);
                }
                // A worn-out engine runs jobs until its successor is ready.
                if successor.is_none() && engine.worn_out() {
                    let (spawner, settings) = (self.spawner.clone(), self.settings.engine_now());
                    successor = Some(tokio::spawn(async move { Child::start(&spawner, &settings).await.ok() }));
                }
                if let Some(started) = successor.take_if(|successor| successor.is_finished())
                    && let Ok(Some(fresh)) = started.await
                {
                    engine = fresh;
                    self.status.engine(self.actor, self.worker, engine.meter(), engine.confinement());
                }
                let ready = engine.is_alive();
                let report = Report::Done { actor: self.actor, worker: self.worker, ended: Box::new(ended), ran: began.elapsed(), ready };
                if self.reports.send(report).await.is_err() {
                    return;
                }
                if !ready {
                    continue 'engines;
                }
            }
        }
    }

    /// Starts an engine, however long that takes. Returns `None` if the fetcher has ended.
    async fn start_engine(&mut self) -> Option<Child> {
        let mut attempt = 0;
        loop {
            match Child::start(&self.spawner, &self.settings.engine_now()).await {
                Ok(engine) => return Some(engine),
                Err(error) => {
                    attempt += 1;
                    if attempt == 1 {
                        tracing::error!(actor = self.actor, script_type = %self.settings.script_type, %error, "an engine does not start; retrying");
                    }
                    self.requeue().await;
                    tokio::select! {
                        () = tokio::time::sleep(RESTART_BACKOFF.wait(attempt, random())) => {}
                        () = self.reports.closed() => return None,
                    }
                }
            }
        }
    }

    /// Requeues the job that waits for an engine that does not start.
    async fn requeue(&mut self) {
        if let Some(Work { job, .. }) = self.next.take().or_else(|| self.work.try_recv().ok()) {
            let ended = Ended::of(job.job, job.attempt, job.claim, job.started_at, AttemptEnd::Requeued);
            // If the fetcher has ended, the job runs again when its lease has expired.
            let _ = self
                .reports
                .send(Report::Done {
                    actor: self.actor,
                    worker: self.worker,
                    ended: Box::new(ended),
                    ran: Duration::from_secs(1),
                    ready: false,
                })
                .await;
        }
    }

    async fn attempt(&self, engine: &mut Child, work: &Work) -> Ended {
        let job = &work.job;
        let mut ended = Ended::of(job.job.clone(), job.attempt, job.claim, job.started_at, AttemptEnd::Crashed);
        let (run, log) = match self.prepared(job).await {
            Ok(prepared) => prepared,
            Err(end) => {
                ended.end = end;
                return ended;
            }
        };
        let retry = StoreRetry::default();
        let mut host = JobHost {
            log,
            calling_job: CallingJob {
                dispatcher: self.dispatcher.clone(),
                store: self.store.clone(),
                context: self.store.context(),
                job: job.job.clone(),
                claim: job.claim,
                caller: run.caller_id.clone(),
                asked: Arc::default(),
                created: Arc::default(),
                retry: retry.clone(),
                audit: self.settings.audit.clone(),
                authority: self.settings.authority.clone(),
            },
            capabilities: self.settings.engine.capabilities.clone(),
            resources: self.resources(&run),
            progress: None,
            speculation: job.speculation.clone(),
        };
        let mut ran = engine.run(&run, &mut host, &work.stop).await;
        // If the engine died before it got the job, another engine is tried, and the job loses no attempt.
        if ran.as_ref().is_err_and(|died| !died.had_job)
            && let Ok(fresh) = Child::start(&self.spawner, &self.settings.engine_now()).await
        {
            *engine = fresh;
            self.status.engine(self.actor, self.worker, engine.meter(), engine.confinement());
            ran = engine.run(&run, &mut host, &work.stop).await;
        }
        match ran {
            Ok(ran) => {
                ended.usage = Some(ran.usage);
                ended.end = match ran.result {
                    Ok(output) => AttemptEnd::Finished(output),
                    // The store was away, so the timeout is not the script's fault.
                    Err(error)
                        if error.kind == ErrorKind::Timeout
                            && (job.speculation.as_ref().is_some_and(SpeculativeRun::waits) || retry.waited(&self.store).await) =>
                    {
                        tracing::warn!(job = %job.job, attempt = job.attempt, "a job timed out while waiting for the store; it is requeued");
                        AttemptEnd::Requeued
                    }
                    Err(error) => {
                        let error = host.log.masked(error).await;
                        if error.kind != ErrorKind::Stopped {
                            host.log.failed(job.attempt, &error);
                        }
                        self.failed(job, error)
                    }
                };
            }
            Err(died) => {
                let labels = self.store.labels([("script_type", self.settings.script_type.to_string())]);
                metrics::counter!("hero_engine_deaths_total", labels).increment(1);
                tracing::warn!(job = %job.job, attempt = job.attempt, %died, "an engine died while running a job");
                host.log.failed(job.attempt, &JobError::new(ErrorKind::Crashed, "the engine or actor died under it"));
            }
        }
        let (logged, used) = host.finish().await;
        ended.logged = logged;
        if let Some(usage) = &mut ended.usage {
            usage.cpu_us = usage.cpu_us.saturating_add(used.cpu_us);
            usage.peak_memory = usage.peak_memory.max(used.peak_memory);
        }
        ended
    }

    /// Creates the resources of an attempt of the job.
    fn resources(&self, run: &EngineJob) -> Arc<AttemptResources> {
        let resources = self.settings.resources.clone();
        let variables = match environment::fault(run) {
            Some(fault) => Err(fault.message),
            None if resources.processes.is_some() => Ok(environment::of_job(run)),
            None => Ok(BTreeMap::new()),
        };
        AttemptResources::new(resources, variables)
    }

    /// Returns the job for the engine and its log, or why the job cannot be run.
    async fn prepared(&self, job: &Claimed) -> Result<(EngineJob, JobLog), AttemptEnd> {
        let unavailable = |message| JobError::new(ErrorKind::Unavailable, message);
        let run = prepare(job, self.store.context()).map_err(|why| AttemptEnd::Refused(unavailable(why)))?;
        let file = job.log_path.as_deref().map(|path| (&self.settings.log_directory, path));
        let (env, bytes) = (run.env.clone(), run.env.values().map(String::len).sum());
        let secrets = away(bytes, move || Secrets::of(&env)).await.ok_or(AttemptEnd::Requeued)?;
        let log = JobLog::new(&self.store, job, &self.settings.mask, secrets, file).await;
        log.map(|log| (run, log)).map_err(|error| self.failed(job, unavailable(format!("log_path: {error}"))))
    }

    fn failed(&self, job: &Claimed, error: JobError) -> AttemptEnd {
        let first = job.retry_backoff.map_or(Backoff::DEFAULT_FIRST_WAIT, Seconds::duration);
        AttemptEnd::Failed { error, retry_in: Backoff::starting_with(first).wait(job.failures.saturating_add(1), random()) }
    }
}

/// Returns the job for the engine, or why the hash of a foreign client cannot be run.
fn prepare(job: &Claimed, context: hero_model::ContextId) -> Result<EngineJob, String> {
    let script = job.script.clone().ok_or("the job's hash has no field script")?;
    // Numbers are checked in the text, because parsing would round them. Nobody has checked jobs of foreign programs
    // before.
    let args = job.args.as_deref().map(|args| exact(args, "args")).transpose().map_err(|beyond| beyond.to_string())?;
    let args = args.map(|args| serde_json::from_str(&args)).transpose().map_err(|error| format!("args can't be read as JSON: {error}"))?;
    let env = match job.env_vars.as_deref() {
        None | Some("{}") => BTreeMap::new(),
        Some(text) => serde_json::from_str(text).map_err(|error| {
            // The parser's message may repeat the value, which is secret.
            format!("env_vars is not a JSON object of texts: line {}, column {}", error.line(), error.column())
        })?,
    };
    let timeout = job.timeout.clone()?.map_or(JobSpec::DEFAULT_TIMEOUT, Seconds::duration);
    let caller_id = job.caller_id.clone().unwrap_or_default();
    Ok(EngineJob { job_id: job.job.clone(), caller_id, context_id: context, attempt: job.attempt, script, args, env, timeout })
}
