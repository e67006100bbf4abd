use std::collections::VecDeque;

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::worker::Work;
use hero_model::JobId;
use hero_store::{Claimed, SpeculativeRun};

/// The fetcher's view of an actor: one worker with an engine, and more workers while concurrent jobs run side by side.
pub(super) struct ActorHandle {
    pub(super) name: String,
    /// Jobs that were fetched ahead, for this actor only.
    pub(super) own: VecDeque<(Instant, Claimed)>,
    workers: Vec<WorkerHandle>,
    /// Maximum number of jobs that run side by side if all of them are concurrent.
    most_concurrent: usize,
    /// True while a job that must run alone waits: no other job starts until the running jobs have ended.
    draining: bool,
}

/// The fetcher's view of a worker.
struct WorkerHandle {
    work: mpsc::Sender<Work>,
    ready: bool,
    /// True if its idle engine has ended. The next job starts another.
    rests: bool,
    running: Option<Running>,
}

/// A run of a job.
pub(super) struct Running {
    pub(super) job: JobId,
    pub(super) attempt: u32,
    pub(super) claim: u32,
    /// The caller that created the job.
    pub(super) caller: Option<String>,
    /// The time at which its worker got it.
    pub(super) began: Instant,
    stop: CancellationToken,
    concurrent: bool,
    /// True if its lease was lost. Such a run is stopped, and its end is not recorded.
    pub(super) lost: bool,
    /// Set if it began before its job is stored.
    pub(super) speculation: Option<SpeculativeRun>,
}

impl ActorHandle {
    /// An actor with one worker, whose engine is about to start.
    pub(super) fn new(name: String, work: mpsc::Sender<Work>, most_concurrent: usize) -> Self {
        Self {
            name,
            own: VecDeque::new(),
            workers: vec![WorkerHandle { work, ready: false, rests: false, running: None }],
            most_concurrent,
            draining: false,
        }
    }

    /// Returns the number of jobs that the actor can take in addition, if it may have `depth` short ones at a time.
    pub(super) fn room(&self, depth: usize) -> usize {
        let ready = self.workers.first().is_some_and(|worker| worker.ready || worker.running.is_some());
        let room = match (self.running(), self.all_concurrent()) {
            _ if !ready || self.draining => 0,
            (running @ 1.., true) => self.most_concurrent.max(depth).saturating_sub(running),
            (running, _) => depth.saturating_sub(running),
        };
        room.saturating_sub(self.own.len())
    }

    /// Returns the number of jobs that it runs.
    pub(super) fn running(&self) -> usize {
        self.runs().count()
    }

    fn runs(&self) -> impl Iterator<Item = &Running> {
        self.workers.iter().filter_map(|worker| worker.running.as_ref())
    }

    fn all_concurrent(&self) -> bool {
        self.runs().all(|running| running.concurrent)
    }

    /// True if a job can start now: alone, or beside others if it and they are concurrent.
    pub(super) fn accepts(&self, job: &Claimed) -> bool {
        match self.running() {
            0 => self.workers.first().is_some_and(|worker| worker.ready),
            running => !self.draining && job.concurrent && running < self.most_concurrent && self.all_concurrent(),
        }
    }

    /// Starts a job that the actor accepts. `start_worker` starts one more worker.
    pub(super) fn begin(&mut self, job: Claimed, start_worker: impl Fn(usize) -> mpsc::Sender<Work>) {
        let free = self.workers.iter().position(|worker| worker.ready && worker.running.is_none() && !worker.work.is_closed());
        let at = free.unwrap_or_else(|| {
            // A worker that ended because it was idle is replaced; otherwise one is added. The job waits until its
            // engine is ready.
            let ended = self.workers.iter().position(|worker| worker.running.is_none() && worker.work.is_closed());
            let at = ended.unwrap_or(self.workers.len());
            let worker = WorkerHandle { work: start_worker(at), ready: false, rests: false, running: None };
            if at < self.workers.len() {
                self.workers[at] = worker
            } else {
                self.workers.push(worker)
            }
            at
        });
        let stop = CancellationToken::new();
        let worker = &mut self.workers[at];
        let (id, attempt, claim, concurrent) = (job.job.clone(), job.attempt, job.claim, job.concurrent);
        let (caller, speculation) = (job.caller_id.clone(), job.speculation.clone());
        worker.running = Some(Running {
            job: id,
            attempt,
            claim,
            caller,
            began: Instant::now(),
            stop: stop.clone(),
            concurrent,
            lost: false,
            speculation,
        });
        // A worker takes one job at a time, so its channel has room. If the worker has just ended, a new one replaces
        // it.
        if let Err(TrySendError::Closed(work) | TrySendError::Full(work)) = worker.work.try_send(Work { job, stop }) {
            (worker.work, worker.ready) = (start_worker(at), false);
            // The channel of a new worker is empty.
            let _ = worker.work.try_send(work);
        }
    }

    /// Replaces a worker that failed by a new one. Returns the run of the failed one.
    pub(super) fn replace(&mut self, worker: usize, work: mpsc::Sender<Work>) -> Option<Running> {
        let worker = self.workers.get_mut(worker)?;
        std::mem::replace(worker, WorkerHandle { work, ready: false, rests: false, running: None }).running
    }

    /// Notes that the engine of a worker is ready.
    pub(super) fn ready(&mut self, worker: usize) {
        if let Some(worker) = self.workers.get_mut(worker) {
            (worker.ready, worker.rests) = (true, false);
        }
    }

    /// Notes that a worker has no engine until its next job.
    pub(super) fn rest(&mut self, worker: usize) {
        if let Some(worker) = self.workers.get_mut(worker) {
            worker.rests = true;
        }
    }

    /// True if a job would wait for an engine to start.
    pub(super) fn rests(&self) -> bool {
        self.workers.first().is_some_and(|worker| worker.rests)
    }

    /// Notes that the job of a worker has ended, and whether its engine can take the next one. Returns the run that
    /// ended.
    pub(super) fn done(&mut self, worker: usize, ready: bool) -> Option<Running> {
        let ran = self.workers.get_mut(worker).and_then(|worker| {
            worker.ready = ready;
            worker.running.take()
        });
        self.draining &= self.running() > 0;
        ran
    }

    /// Takes no job until all running jobs have ended, because a job that must run alone waits.
    pub(super) fn drain(&mut self) {
        self.draining = self.running() > 0;
    }

    /// Stops a job if this actor runs it. Returns whether it does.
    pub(super) fn stop(&self, job: &JobId) -> bool {
        let counts = |running: &&Running| !running.lost && !running.speculation.as_ref().is_some_and(SpeculativeRun::is_over);
        let running = self.runs().filter(counts).find(|running| running.job == *job);
        running.inspect(|running| running.stop.cancel()).is_some()
    }

    /// Returns whether it runs a job that is not stored yet.
    pub(super) fn runs_unstored(&self, job: &JobId) -> bool {
        self.runs().any(|running| running.job == *job && running.speculation.as_ref().is_some_and(|run| !run.is_stored()))
    }

    /// Stops the runs of a job whose lease was lost. Returns whether there were any.
    pub(super) fn lose(&mut self, job: &JobId, is_lost: impl Fn(u32) -> bool) -> bool {
        let mut some = false;
        for running in self.workers.iter_mut().filter_map(|worker| worker.running.as_mut()) {
            if running.job == *job && !running.lost && is_lost(running.claim) {
                running.stop.cancel();
                (running.lost, some) = (true, true);
            }
        }
        some
    }

    /// Stops the runs of a job that were in vain, because it was not stored as a started one. Their ends are not
    /// recorded.
    pub(super) fn drop_runs(&mut self, job: &JobId, is_in_vain: impl Fn(&SpeculativeRun) -> bool) {
        for running in self.workers.iter_mut().filter_map(|worker| worker.running.as_mut()) {
            if running.job == *job && running.speculation.as_ref().is_some_and(&is_in_vain) {
                running.stop.cancel();
                running.lost = true;
            }
        }
    }

    /// Drops all workers, and returns their runs.
    pub(super) fn drop_workers(&mut self) -> Vec<Running> {
        self.workers.drain(..).filter_map(|worker| worker.running).collect()
    }
}
