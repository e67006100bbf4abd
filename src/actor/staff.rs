mod give_back;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::handle::ActorHandle;
use super::lease::Holdings;
use super::prefetch::Prefetch;
use super::status::PoolStatus;
use super::worker::{Report, Work};
use crate::model::{ErrorKind, JobError, JobId, Timestamp};
use crate::store::{Claimed, Ended, Outcome, Post, Slot};

/// The actors of a pool, what they run, what waits for them, and what is still to be recorded. It knows no Redis.
pub(super) struct Staff {
    actors: Vec<ActorHandle>,
    start_worker: StartWorker,
    holdings: Holdings,
    status: Arc<PoolStatus>,
    /// Taken ahead, for whoever is free first.
    waiting: VecDeque<(Instant, Claimed)>,
    /// How claims ended, in the order in which it is to be recorded.
    pub(super) ends: Vec<Ended>,
    prefetch: Prefetch,
    /// Jobs that were to be stopped and were not here: they may be on their way.
    to_stop: VecDeque<(Instant, JobId)>,
}

/// Starts one more worker of an actor, given the index of the actor and the worker's index in it, and gives where to send its jobs.
pub(super) type StartWorker = Box<dyn Fn(usize, usize) -> mpsc::Sender<Work> + Send>;

/// So long a job may be on its way. Later it is another attempt of it, which nobody has stopped.
const ON_ITS_WAY: Duration = Duration::from_secs(2);
/// So many stops of jobs that are on their way are kept. There are no more jobs on their way than a pool has room for.
const MOST_TO_STOP: usize = 1024;

impl Staff {
    /// An actor for each post, of which each may run so many concurrent jobs side by side.
    pub(super) fn new(posts: &[Post], start_worker: StartWorker, side_by_side: usize, holdings: Holdings, status: Arc<PoolStatus>) -> Self {
        let actors = posts
            .iter()
            .enumerate()
            .map(|(index, post)| ActorHandle::new(post.to_string(), start_worker(index, 0), side_by_side))
            .collect();
        let (waiting, to_stop) = (VecDeque::new(), VecDeque::new());
        Self { actors, start_worker, holdings, status, waiting, ends: Vec::new(), prefetch: Prefetch::default(), to_stop }
    }

    /// What the pool holds.
    pub(super) fn holdings(&self) -> &Holdings {
        &self.holdings
    }

    /// Whether nothing runs.
    pub(super) fn rests(&self) -> bool {
        self.actors.iter().all(|actor| actor.running() == 0)
    }

    /// Whether every actor has its next job.
    pub(super) fn has_plenty(&self) -> bool {
        self.waiting.len() > self.actors.len()
    }

    /// How many jobs all actors together can take.
    pub(super) fn room(&self) -> usize {
        self.slots().iter().map(|slot| slot.room).sum()
    }

    /// How many jobs each actor can take.
    pub(super) fn slots(&self) -> Vec<Slot> {
        let depth = self.prefetch.depth();
        let mut waiting = self.waiting.len();
        let mut slots: Vec<Slot> = self.actors.iter().map(|actor| Slot { actor: actor.name.clone(), room: actor.room(depth) }).collect();
        for slot in &mut slots {
            let less = waiting.min(slot.room);
            slot.room -= less;
            waiting -= less;
        }
        slots
    }

    /// Takes in a job that this pool holds now.
    pub(super) fn take_in(&mut self, job: Claimed, now: Instant) {
        // Nobody but the last who took it can hold it.
        self.lose(&job.job, |claim| claim != job.claim);
        self.holdings.add(&job.job, job.claim);
        while self.to_stop.front().is_some_and(|(since, _)| now.duration_since(*since) > ON_ITS_WAY) {
            self.to_stop.pop_front();
        }
        if let Some(at) = self.to_stop.iter().position(|(_, id)| *id == job.job) {
            self.to_stop.remove(at);
            return self.ends.push(stopped(job));
        }
        match self.actors.get_mut(job.slot) {
            Some(actor) if job.owned => actor.own.push_back((now, job)),
            _ => self.waiting.push_back((now, job)),
        }
    }

    /// Takes in what an actor says. Gives how long a job ran, if one has ended.
    pub(super) fn note(&mut self, report: Report, now: Timestamp) -> Option<Duration> {
        match report {
            Report::Ready { actor, worker } => {
                self.actors[actor].ready(worker);
                None
            }
            Report::Failed { actor, worker } => {
                let failed = self.actors[actor].replace(worker, (self.start_worker)(actor, worker))?;
                tracing::error!(job = %failed.job, "a worker failed under a job and is replaced");
                self.end(failed.lost, Ended { outcome: Outcome::Crashed, ..Ended::released(failed.job, failed.claim, now) });
                None
            }
            Report::Done { actor, worker, ended, ran, ready } => {
                let lost = self.actors[actor].done(worker, ready).is_some_and(|running| running.lost);
                self.status.set_running(actor, self.actors[actor].running(), worker > 0 || ready);
                tracing::debug!(job = %ended.job, actor = %self.actors[actor].name, ?ran, outcome = ended.outcome.word(), "a job has ended");
                self.end(lost, ended);
                self.prefetch.ran(ran);
                Some(ran)
            }
        }
    }

    /// Notes how a run ended. If its lease was lost somebody else has the job, or its end is written.
    fn end(&mut self, lost: bool, ended: Ended) {
        if lost {
            self.holdings.remove(&ended.job, ended.claim);
        } else {
            self.ends.push(ended);
        }
    }

    /// Has jobs begin, in the order in which they were taken: one that must run alone is not overtaken by those that need not.
    pub(super) fn hand_out(&mut self) {
        for index in 0..self.actors.len() {
            while self.actors[index].own.front().is_some_and(|(_, job)| self.actors[index].accepts(job)) {
                let next = self.actors[index].own.pop_front();
                self.begin(index, next);
            }
        }
        while let Some((_, job)) = self.waiting.front() {
            let preferred = Some(job.slot).filter(|index| self.actors.get(*index).is_some_and(|actor| actor.accepts(job)));
            let Some(index) = preferred.or_else(|| self.actors.iter().position(|actor| actor.accepts(job))) else { return };
            let next = self.waiting.pop_front();
            self.begin(index, next);
        }
    }

    fn begin(&mut self, index: usize, job: Option<(Instant, Claimed)>) {
        if let Some((_, job)) = job {
            let actor = &mut self.actors[index];
            tracing::debug!(job = %job.job, actor = %actor.name, attempt = job.attempt, "a job starts");
            actor.begin(job, |worker| (self.start_worker)(index, worker));
            self.status.set_running(index, actor.running(), true);
        }
    }

    /// Since when the job that was taken ahead first waits.
    pub(super) fn oldest_waiting(&self) -> Option<Instant> {
        let own = self.actors.iter().filter_map(|actor| actor.own.front());
        own.chain(self.waiting.front()).map(|(since, _)| *since).min()
    }

    /// Stops a job, whichever attempt of it is here, or is on its way.
    pub(super) fn stop(&mut self, job: &JobId, now: Instant) {
        if self.actors.iter().any(|actor| actor.stop(job)) {
            return;
        }
        if let Some(waiting) = self.take_out(job, |_| true) {
            return self.ends.push(stopped(waiting));
        }
        if self.to_stop.len() == MOST_TO_STOP {
            self.to_stop.pop_front();
        }
        self.to_stop.push_back((now, job.clone()));
    }

    /// Forgets what was to be stopped and did not come, because nothing is on its way any more.
    pub(super) fn expect_nothing(&mut self) {
        self.to_stop.clear();
    }

    /// Lets go of claims of a job whose lease was lost: what runs is told to stop, and its end will concern nobody.
    pub(super) fn lose(&mut self, job: &JobId, is_lost: impl Fn(u32) -> bool) {
        for actor in &mut self.actors {
            if actor.lose(job, &is_lost) {
                tracing::warn!(%job, "the lease of a running job was lost; it is stopped here, and somebody else may run it");
            }
        }
        while let Some(waiting) = self.take_out(job, &is_lost) {
            self.holdings.remove(&waiting.job, waiting.claim);
        }
    }

    /// Takes a job out of those that wait.
    fn take_out(&mut self, job: &JobId, which: impl Fn(u32) -> bool) -> Option<Claimed> {
        let queues = self.actors.iter_mut().map(|actor| &mut actor.own).chain([&mut self.waiting]);
        for queue in queues {
            if let Some(at) = queue.iter().position(|(_, waiting)| waiting.job == *job && which(waiting.claim)) {
                return queue.remove(at).map(|(_, job)| job);
            }
        }
        None
    }
}

/// The end of a job that was to be stopped before it began.
fn stopped(job: Claimed) -> Ended {
    let error = JobError::new(ErrorKind::Stopped, "stopped_by_request");
    let outcome = Outcome::Failed { error, retry_in: Duration::ZERO };
    Ended { outcome, attempt: job.attempt, ..Ended::released(job.job, job.claim, job.started_at) }
}
