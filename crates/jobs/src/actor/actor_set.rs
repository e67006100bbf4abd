mod recording;
mod requeue;
#[cfg(test)]
mod tests;
mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use self::waiting::{PendingStops, WaitingClaims};
use super::handle::ActorHandle;
use super::lease::HeldLeases;
use super::prefetch::Prefetch;
use super::status::PoolStatus;
use super::worker::{Report, Work};
use hero_audit::Audit;
use hero_model::{ContextId, ErrorKind, JobError, JobId, Timestamp};
use hero_store::{ActorRoom, AttemptEnd, Claimed, Ended, Registration, SpeculativeRun};

/// The actors of a pool, their running and waiting jobs, and the ends to record. It does not use Redis.
pub(super) struct ActorSet {
    actors: Vec<ActorHandle>,
    start_worker: StartWorker,
    leases: HeldLeases,
    status: Arc<PoolStatus>,
    /// Jobs that were fetched ahead, for the first actor that is free.
    waiting: VecDeque<(Instant, Claimed)>,
    /// The claims of the jobs in `waiting` and in the actors' own queues.
    claims: WaitingClaims,
    /// The ends of claims, in the order in which to record them.
    pub(super) ends: Vec<Ended>,
    prefetch: Prefetch,
    to_stop: PendingStops,
    /// The audit log for attempts, and their context.
    audit: (Audit, ContextId),
}

/// Starts one more worker, given the index of the actor and the worker's index in it. Returns the sender for its jobs.
pub(super) type StartWorker = Box<dyn Fn(usize, usize) -> mpsc::Sender<Work> + Send>;

impl ActorSet {
    /// One actor for each registration. Each may run up to `side_by_side` concurrent jobs at a time.
    pub(super) fn new(
        registrations: &[Registration],
        start_worker: StartWorker,
        side_by_side: usize,
        leases: HeldLeases,
        status: Arc<PoolStatus>,
    ) -> Self {
        let actors = registrations
            .iter()
            .enumerate()
            .map(|(index, registration)| ActorHandle::new(registration.to_string(), start_worker(index, 0), side_by_side))
            .collect();
        let (waiting, claims, to_stop) = (VecDeque::new(), WaitingClaims::default(), PendingStops::default());
        let audit = (Audit::default(), ContextId(0));
        Self { actors, start_worker, leases, status, waiting, claims, ends: Vec::new(), prefetch: Prefetch::default(), to_stop, audit }
    }

    /// Returns the set with an audit log, which gets the attempts of jobs of this context.
    pub(super) fn with_audit(self, audit: Audit, context: ContextId) -> Self {
        Self { audit: (audit, context), ..self }
    }

    /// Returns the leases that the pool holds.
    pub(super) fn leases(&self) -> &HeldLeases {
        &self.leases
    }

    /// True if no actor runs a job.
    pub(super) fn is_idle(&self) -> bool {
        self.actors.iter().all(|actor| actor.running() == 0)
    }

    /// True if every actor has its next job.
    pub(super) fn has_enough(&self) -> bool {
        self.waiting.len() > self.actors.len()
    }

    /// Returns the number of jobs that all actors together can take.
    pub(super) fn room(&self) -> usize {
        self.rooms().iter().map(|of_actor| of_actor.room).sum()
    }

    /// Returns the number of jobs that each actor can take.
    pub(super) fn rooms(&self) -> Vec<ActorRoom> {
        let depth = self.prefetch.depth();
        let mut waiting = self.waiting.len();
        let mut rooms: Vec<ActorRoom> =
            self.actors.iter().map(|actor| ActorRoom { actor: actor.name.clone(), room: actor.room(depth) }).collect();
        for of_actor in &mut rooms {
            let less = waiting.min(of_actor.room);
            of_actor.room -= less;
            waiting -= less;
        }
        rooms
    }

    /// Adds a job that this pool has claimed, or that it runs before the job is stored.
    pub(super) fn add_job(&mut self, job: Claimed, now: Instant) {
        if job.speculation.is_none() {
            // A job has one lease at a time, so an earlier claim of it is lost, and a run without a lease was in vain.
            self.lose(&job.job, |claim| claim != job.claim);
            self.drop_runs(&job.job, |run| !run.is_stored());
            self.leases.add(&job.job, job.claim);
        }
        if self.to_stop.take(&job.job, now) {
            return self.end_waiting(stopped, job);
        }
        self.claims.add(&job.job);
        match self.actors.get_mut(job.actor_index) {
            Some(actor) if job.pinned => actor.own.push_back((now, job)),
            _ => self.waiting.push_back((now, job)),
        }
    }

    /// Handles the report of a worker. Returns the running time of the job, if one has ended.
    pub(super) fn handle_report(&mut self, report: Report, now: Timestamp) -> Option<Duration> {
        match report {
            Report::Ready { actor, worker } => {
                self.actors[actor].ready(worker);
                None
            }
            Report::EngineIdle { actor, worker } => {
                self.actors[actor].rest(worker);
                None
            }
            Report::Failed { actor, worker } => {
                let failed = self.actors[actor].replace(worker, (self.start_worker)(actor, worker))?;
                tracing::error!(job = %failed.job, "a worker panicked while running a job and is replaced");
                self.record(actor, &failed, &AttemptEnd::Crashed);
                let ended = Ended::of(failed.job, failed.attempt, failed.claim, now, AttemptEnd::Crashed);
                self.end(failed.lost, ended, failed.speculation.as_ref());
                None
            }
            Report::Done { actor, worker, ended, ran, ready } => {
                let running = self.actors[actor].done(worker, ready);
                if let Some(running) = &running {
                    self.record(actor, running, &ended.end);
                }
                let (lost, speculation) = running.map_or((false, None), |running| (running.lost, running.speculation));
                self.status.set_running(actor, self.actors[actor].running(), worker > 0 || ready);
                tracing::debug!(job = %ended.job, actor = %self.actors[actor].name, ?ran, outcome = ended.end.word(), "a job has ended");
                self.end(lost, *ended, speculation.as_ref());
                self.prefetch.ran(ran);
                Some(ran)
            }
        }
    }

    /// Queues the end of a run to be recorded. Drops it if the lease was lost: then another server has the job, or its
    /// end is recorded already.
    fn end(&mut self, lost: bool, ended: Ended, speculation: Option<&SpeculativeRun>) {
        if lost {
            // A run before its job was stored had no lease. Another run of the job may have it.
            if speculation.is_none_or(SpeculativeRun::is_stored) {
                self.leases.remove(&ended.job, ended.claim);
            }
            return;
        }
        self.ends.extend(match speculation {
            Some(run) => run.record(ended),
            None => Some(ended),
        });
    }

    /// Queues the end of a job that has not begun.
    fn end_waiting(&mut self, end: impl Fn(Claimed) -> Ended, job: Claimed) {
        let speculation = job.speculation.clone();
        self.end(false, end(job), speculation.as_ref());
    }

    /// Stops and forgets runs of a job that were in vain, because it was not stored as a started one.
    pub(super) fn drop_runs(&mut self, job: &JobId, is_in_vain: impl Fn(&SpeculativeRun) -> bool) {
        while self.take_out(job, |waiting| waiting.speculation.as_ref().is_some_and(&is_in_vain)).is_some() {}
        for actor in &mut self.actors {
            actor.drop_runs(job, &is_in_vain);
        }
    }

    /// Starts waiting jobs in the order in which they were taken, so that a job that must run alone is not overtaken by
    /// others.
    pub(super) fn assign(&mut self) {
        for index in 0..self.actors.len() {
            while self.actors[index].own.front().is_some_and(|(_, job)| self.actors[index].accepts(job)) {
                let next = self.actors[index].own.pop_front();
                self.begin(index, next);
            }
        }
        while let Some((_, job)) = self.waiting.front() {
            let indices = std::iter::once(job.actor_index).chain(0..self.actors.len());
            let mut accepting = indices.filter(|index| self.actors.get(*index).is_some_and(|actor| actor.accepts(job)));
            // An actor whose engine would have to start is the last choice.
            let awake = accepting.clone().find(|index| !self.actors[*index].rests());
            let Some(index) = awake.or_else(|| accepting.next()) else { return };
            let next = self.waiting.pop_front();
            self.begin(index, next);
        }
    }

    fn begin(&mut self, index: usize, job: Option<(Instant, Claimed)>) {
        if let Some((_, job)) = job {
            self.claims.remove(&job.job);
            let actor = &mut self.actors[index];
            tracing::debug!(job = %job.job, actor = %actor.name, attempt = job.attempt, "a job starts");
            actor.begin(job, |worker| (self.start_worker)(index, worker));
            self.status.set_running(index, actor.running(), true);
        }
    }

    /// Returns the time since when the oldest waiting job waits.
    pub(super) fn oldest_waiting(&self) -> Option<Instant> {
        let own = self.actors.iter().filter_map(|actor| actor.own.front());
        own.chain(self.waiting.front()).map(|(since, _)| *since).min()
    }

    /// Stops a job, whichever attempt of it is here or on its way here.
    pub(super) fn stop(&mut self, job: &JobId, now: Instant) {
        if self.actors.iter().any(|actor| actor.stop(job)) {
            return;
        }
        if let Some(waiting) = self.take_out(job, |_| true) {
            return self.end_waiting(stopped, waiting);
        }
        self.to_stop.add(job, now);
    }

    /// Forgets the stop requests for jobs that did not arrive, because no job is on its way any more.
    pub(super) fn forget_stops(&mut self) {
        self.to_stop.clear();
    }

    /// Whether this pool has a job that it does not know to be stored, so that Redis may count a claim of it already.
    pub(super) fn has_unstored(&self, job: &JobId) -> bool {
        let unstored = |waiting: &Claimed| waiting.job == *job && waiting.speculation.as_ref().is_some_and(|run| !run.is_stored());
        self.actors.iter().any(|actor| actor.runs_unstored(job)) || self.waiting.iter().any(|(_, waiting)| unstored(waiting))
    }

    /// Drops a claim whose lease was lost.
    pub(super) fn lose_claim(&mut self, job: &JobId, claim: u32) {
        if !self.lose(job, |other| other == claim) {
            // A run that was in vain before its job was known to be stored gave up no lease.
            self.leases.remove(job, claim);
        }
    }

    /// Drops the claims of a job whose leases were lost. A running script is stopped, and its end is not recorded. Returns
    /// whether there were any.
    pub(super) fn lose(&mut self, job: &JobId, is_lost: impl Fn(u32) -> bool) -> bool {
        let mut some = false;
        for actor in &mut self.actors {
            if actor.lose(job, &is_lost) {
                some = true;
                tracing::warn!(%job, "the lease of a running job was lost; it is stopped here, and somebody else may run it");
            }
        }
        while let Some(waiting) = self.take_out(job, |waiting| is_lost(waiting.claim)) {
            some = true;
            self.leases.remove(&waiting.job, waiting.claim);
        }
        some
    }

    /// Removes a claim of a job from the waiting jobs, and returns it.
    fn take_out(&mut self, job: &JobId, which: impl Fn(&Claimed) -> bool) -> Option<Claimed> {
        if !self.claims.contain(job) {
            return None;
        }
        let queues = self.actors.iter_mut().map(|actor| &mut actor.own).chain([&mut self.waiting]);
        for queue in queues {
            if let Some(at) = queue.iter().position(|(_, waiting)| waiting.job == *job && which(waiting)) {
                self.claims.remove(job);
                return queue.remove(at).map(|(_, job)| job);
            }
        }
        None
    }
}

/// The end of a job that was stopped before it began.
fn stopped(job: Claimed) -> Ended {
    let error = JobError::new(ErrorKind::Stopped, "stopped_by_request");
    let end = AttemptEnd::Failed { error, retry_in: Duration::ZERO };
    Ended::of(job.job, job.attempt, job.claim, job.started_at, end)
}
