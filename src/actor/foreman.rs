mod give_back;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use metrics::Histogram;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::desk::Desk;
use super::doubt::Doubt;
use super::guard::Holdings;
use super::pace::{Pace, STALE};
use super::pool::{PoolSettings, PoolStatus};
use super::worker::{Report, Work};
use crate::model::{ErrorKind, JobError, JobId};
use crate::store::{Claimed, CompatQueues, Ended, Error, Opening, Outcome, Post, Slot, Store, Turn, Turned};

/// The queues are looked at this often, whatever wakes us.
const POLL: Duration = Duration::from_secs(1);
/// After a turn that failed.
const PAUSE: Duration = Duration::from_millis(200);
/// So many ends go into one turn.
const MOST_ENDS: usize = 128;

/// So many ends are worth a turn by themselves.
const ENOUGH_ENDS: usize = 24;

/// Runs the pool: takes jobs, hands them out, records how they ended. One turn is under way at a time.
pub(super) struct Foreman {
    store: Store,
    settings: Arc<PoolSettings>,
    actors: Vec<Desk>,
    hire: Hire,
    /// Each with the slot it belongs to, in the order of service.
    queues: Arc<[(String, usize)]>,
    compat: Arc<CompatQueues>,
    reports: mpsc::Receiver<Report>,
    stops: broadcast::Receiver<JobId>,
    holdings: Holdings,
    status: Arc<PoolStatus>,
    bell: Arc<Notify>,
    /// Room for jobs that start in the script that stores them.
    opening: Arc<Opening>,
    started: mpsc::UnboundedReceiver<Claimed>,
    idle: watch::Sender<bool>,
    /// Taken ahead, for whoever is free first.
    waiting: VecDeque<(Instant, Claimed)>,
    ends: Vec<Ended>,
    pace: Pace,
    /// Whether the queues may hold something.
    hungry: bool,
    /// How many jobs the turn that is under way asked for.
    asked_for: usize,
    /// Whether jobs may have been taken that nobody knows of.
    unsure: bool,
    doubt: Doubt,
    wait_time: Histogram,
    run_time: Histogram,
}

/// What is under way with Redis.
enum News {
    /// What was said, how much was asked for, and the answer.
    Turned(Vec<Ended>, usize, Result<Turned, Error>),
    Held(Result<Vec<(JobId, u32)>, Error>),
}

/// Makes one more worker for a slot: its number there, and where to hand it jobs.
pub(super) type Hire = Box<dyn Fn(usize, usize) -> mpsc::Sender<Work> + Send>;

type Talk = Pin<Box<dyn Future<Output = News> + Send>>;

impl Foreman {
    #[expect(clippy::too_many_arguments, reason = "the one place where the parts of a pool come together")]
    pub(super) fn new(
        store: Store,
        settings: Arc<PoolSettings>,
        posts: &[Post],
        hire: Hire,
        reports: mpsc::Receiver<Report>,
        holdings: Holdings,
        status: Arc<PoolStatus>,
        bell: Arc<Notify>,
        idle: watch::Sender<bool>,
    ) -> Self {
        let actors =
            posts.iter().enumerate().map(|(slot, post)| Desk::new(post.to_string(), hire(slot, 0), settings.side_by_side)).collect();
        let labels = store.labels([("script_type", settings.script_type.to_string())]);
        let queues: Arc<[(String, usize)]> = store.queues_of(posts).into();
        let names = posts.iter().map(ToString::to_string).collect();
        let compat = Arc::new(store.compat_queues(&settings.script_type, &settings.compat));
        let (opening, started) =
            store.openings().open(&settings.script_type, names, queues.iter().map(|(queue, _)| queue.clone()).collect());
        Self {
            opening,
            started,
            actors,
            hire,
            queues,
            compat,
            stops: store.inbox().stops(),
            wait_time: metrics::histogram!("hero_job_wait_seconds", labels.clone()),
            run_time: metrics::histogram!("hero_job_run_seconds", labels),
            store,
            settings,
            reports,
            holdings,
            status,
            bell,
            idle,
            waiting: VecDeque::new(),
            ends: Vec::new(),
            pace: Pace::default(),
            hungry: true,
            asked_for: 0,
            unsure: false,
            doubt: Doubt::default(),
        }
    }

    /// Works until shutdown, then until nothing is left to record.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let (mut talk, mut again_at, mut reports): (Option<Talk>, Option<Instant>, Vec<Report>) = (None, None, Vec::new());
        let mut poll = tokio::time::interval(POLL);
        let (mut leaving, mut killing): (Option<Instant>, bool) = (None, false);
        loop {
            if leaving.is_none() {
                self.hand_out();
            }
            self.unsure |= self.opening.take_unsure();
            if talk.is_none() && again_at.is_none() {
                talk = self.next_talk(leaving.is_some());
            }
            self.opening.set_room(if leaving.is_some() {
                0
            } else {
                self.room().saturating_sub(if talk.is_some() { self.asked_for } else { 0 })
            });
            self.idle.send_if_modified(|idle| std::mem::replace(idle, self.holdings.len() == 0) != (self.holdings.len() == 0));
            let nothing_comes = self.opening.is_closed() && self.started.is_empty();
            if leaving.is_some()
                && nothing_comes
                && talk.is_none()
                && self.ends.is_empty()
                && self.actors.iter().all(|desk| desk.running() == 0)
            {
                return;
            }
            let stale = self.oldest_waiting().map(|since| since + STALE);
            tokio::select! {
                biased;
                news = async { talk.as_mut().expect("guarded").await }, if talk.is_some() => {
                    talk = None;
                    again_at = self.hear(news, leaving);
                }
                _ = self.reports.recv_many(&mut reports, 64) => {
                    reports.drain(..).for_each(|report| self.note(report));
                }
                Some(job) = self.started.recv() => {
                    self.take_in(job, Instant::now());
                    if leaving.is_some() {
                        self.give_back_what_waits(false);
                    }
                }
                () = self.bell.notified() => self.hungry = true,
                stop = self.stops.recv() => match stop {
                    Ok(job) => self.stop(&job),
                    // The control queues hold what was missed here.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = at(stale), if stale.is_some() => self.give_back_what_waits(true),
                () = at(again_at), if again_at.is_some() => again_at = None,
                _ = poll.tick() => {
                    self.hungry = true;
                    self.unsure |= self.doubt.remains();
                }
                () = shutdown.cancelled(), if leaving.is_none() => {
                    leaving = Some(Instant::now() + self.settings.grace);
                    self.give_back_what_waits(false);
                }
                () = at(leaving), if leaving.is_some() && !killing => {
                    killing = true;
                    self.give_back_what_runs();
                }
            }
        }
    }

    /// A turn, if there is something to say or to ask for; or a look at what Redis thinks that we hold.
    fn next_talk(&mut self, leaving: bool) -> Option<Talk> {
        if self.unsure && self.ends.is_empty() {
            self.asked_for = 0;
            let (store, settings) = (self.store.clone(), self.settings.clone());
            return Some(Box::pin(async move { News::Held(store.held(&settings.script_type, &settings.group).await) }));
        }
        if !leaving && self.waiting.len() > self.actors.len() && self.ends.len() < ENOUGH_ENDS {
            // Every actor has its next job: what ended can wait for more, because a turn with one costs as much as one with many.
            return None;
        }
        let mut slots = self.slots();
        let take = !leaving && !self.unsure && slots.iter().any(|slot| slot.room > 0);
        if self.ends.is_empty() && !(take && self.hungry) {
            return None;
        }
        if !self.hungry {
            // Nobody said that there is work: half of the room is left to jobs that start as they are stored.
            slots.iter_mut().for_each(|slot| slot.room = slot.room.div_ceil(2));
        }
        self.asked_for = if take { slots.iter().map(|slot| slot.room).sum() } else { 0 };
        // What is given back goes into its queue before anything is taken from there.
        let take = take && self.ends.len() <= MOST_ENDS;
        let rest = self.ends.split_off(self.ends.len().min(MOST_ENDS));
        let ends = std::mem::replace(&mut self.ends, rest);
        let (store, settings, queues, compat) = (self.store.clone(), self.settings.clone(), self.queues.clone(), self.compat.clone());
        self.hungry = false;
        Some(Box::pin(async move {
            let (slots, queues) = if take { (&slots[..], &queues[..]) } else { (&[][..], &[][..]) };
            let turn = Turn { script_type: &settings.script_type, ends: &ends, slots, queues };
            let turned = store.turn_and_adopt(&turn, &compat, settings.fair).await;
            News::Turned(ends, slots.iter().map(|slot| slot.room).sum(), turned)
        }))
    }

    /// How many jobs all actors together can take.
    fn room(&self) -> usize {
        self.slots().iter().map(|slot| slot.room).sum()
    }

    /// How many jobs each actor can take.
    fn slots(&self) -> Vec<Slot> {
        let depth = self.pace.depth();
        let mut waiting = self.waiting.len();
        let mut slots: Vec<Slot> = self.actors.iter().map(|desk| Slot { actor: desk.name.clone(), room: desk.room(depth) }).collect();
        for slot in &mut slots {
            let less = waiting.min(slot.room);
            slot.room -= less;
            waiting -= less;
        }
        slots
    }

    /// Takes in what Redis answered; after a failure, gives the time to try again.
    fn hear(&mut self, news: News, leaving: Option<Instant>) -> Option<Instant> {
        match news {
            News::Turned(ends, wanted, Ok(turned)) => {
                for end in &ends {
                    self.holdings.remove(&end.job, end.attempt);
                }
                // Where all was found that was asked for there may be more.
                self.hungry |= turned.more || !turned.taken.is_empty() && turned.taken.len() >= wanted;
                let now = Instant::now();
                turned.taken.into_iter().for_each(|job| self.take_in(job, now));
                if leaving.is_some() {
                    self.give_back_what_waits(false);
                }
                None
            }
            News::Turned(mut ends, _, Err(error)) => {
                tracing::debug!(%error, "a turn failed and is taken again");
                ends.append(&mut self.ends);
                self.ends = ends;
                (self.unsure, self.hungry) = (true, true);
                // A pool that leaves does not wait for a Redis that is gone: leases bring the jobs back.
                if leaving.is_some_and(|until| Instant::now() >= until) {
                    self.ends.clear();
                    self.unsure = false;
                }
                Some(Instant::now() + PAUSE)
            }
            News::Held(Ok(held)) => {
                self.unsure = false;
                let lost = self.doubt.examine(held, &self.holdings, leaving.is_some());
                self.ends.extend(lost.into_iter().map(|(job, attempt)| Ended::released(job, attempt, self.store.clock().now())));
                None
            }
            News::Held(Err(_)) => {
                self.unsure = leaving.is_none_or(|until| Instant::now() < until);
                Some(Instant::now() + PAUSE)
            }
        }
    }

    /// Takes in a job that this pool holds now.
    fn take_in(&mut self, job: Claimed, now: Instant) {
        if self.holdings.contains(&job.job) {
            // An earlier attempt still runs here although its lease was lost; its result would be refused.
            self.actors.iter().any(|desk| desk.stop(&job.job));
        }
        self.holdings.add(&job.job, job.attempt);
        if let Some(queued) = job.queued_at {
            self.wait_time.record(job.started_at.since(queued).as_secs_f64());
        }
        match self.actors.get_mut(job.slot) {
            Some(desk) if job.owned => desk.own.push_back((now, job)),
            _ => self.waiting.push_back((now, job)),
        }
    }

    fn note(&mut self, report: Report) {
        match report {
            Report::Ready { slot, lane } => {
                self.actors[slot].ready(lane);
                self.hungry = true;
            }
            Report::Failed { slot, lane } => {
                if let Some(job) = self.actors[slot].replace(lane, (self.hire)(slot, lane)) {
                    tracing::error!(%job, "a worker failed under a job and is replaced");
                    let attempt = self.holdings.attempt(&job).unwrap_or_default();
                    self.ends.push(Ended { outcome: Outcome::Crashed, ..Ended::released(job, attempt, self.store.clock().now()) });
                }
            }
            Report::Done { slot, lane, ended, ran, ready } => {
                self.actors[slot].done(lane, ready);
                self.status.set_running(slot, self.actors[slot].running(), lane > 0 || ready);
                self.pace.ran(ran);
                self.run_time.record(ran.as_secs_f64());
                self.ends.push(ended);
            }
        }
    }

    /// Has jobs begin, in the order in which they were taken: one that must run alone is not overtaken by those that need not.
    fn hand_out(&mut self) {
        for slot in 0..self.actors.len() {
            while self.actors[slot].own.front().is_some_and(|(_, job)| self.actors[slot].accepts(job)) {
                let next = self.actors[slot].own.pop_front();
                self.begin(slot, next);
            }
        }
        while let Some((_, job)) = self.waiting.front() {
            let preferred = Some(job.slot).filter(|slot| self.actors.get(*slot).is_some_and(|desk| desk.accepts(job)));
            let Some(slot) = preferred.or_else(|| self.actors.iter().position(|desk| desk.accepts(job))) else { return };
            let next = self.waiting.pop_front();
            self.begin(slot, next);
        }
    }

    fn begin(&mut self, slot: usize, job: Option<(Instant, Claimed)>) {
        if let Some((_, job)) = job {
            let desk = &mut self.actors[slot];
            desk.begin(job, |lane| (self.hire)(slot, lane));
            self.status.set_running(slot, desk.running(), true);
        }
    }

    /// Since when the job that was taken ahead first waits.
    fn oldest_waiting(&self) -> Option<Instant> {
        let own = self.actors.iter().filter_map(|desk| desk.own.front());
        own.chain(self.waiting.front()).map(|(since, _)| *since).min()
    }

    /// Stops a job that this pool holds.
    fn stop(&mut self, job: &JobId) {
        if self.actors.iter().any(|desk| desk.stop(job)) {
            return;
        }
        let waiting = self.actors.iter_mut().map(|desk| &mut desk.own).chain([&mut self.waiting]);
        for queue in waiting {
            if let Some((_, claimed)) = queue.iter().position(|(_, waiting)| waiting.job == *job).and_then(|at| queue.remove(at)) {
                let error = JobError::new(ErrorKind::Stopped, "stopped_by_request");
                let outcome = Outcome::Failed { error, retry_in: Duration::ZERO };
                self.ends.push(Ended { outcome, ..Ended::released(claimed.job, claimed.attempt, claimed.started_at) });
                return;
            }
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
