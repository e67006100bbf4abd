use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use metrics::Histogram;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actor_set::ActorSet;
use super::prefetch::STALE_AFTER;
use super::reconcile::Reconciler;
use super::settings::PoolSettings;
use super::worker::Report;
use hero_model::JobId;
use hero_store::{
    AttemptEnd, Claimed, DirectJob, DirectStart, Ended, Error, Fetch, Fetched, LayoutQueues, NotedLease, Registration, Store,
};

/// The interval at which the queues are checked, even without a wake-up.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Fetches that fail for this long for the same reason are logged.
const LASTING_FAILURE: Duration = Duration::from_secs(5);
/// Pause after a fetch that failed.
const RETRY_DELAY: Duration = Duration::from_millis(200);
/// At most this many ends of jobs are recorded in one fetch.
const MOST_ENDS: usize = 128;

/// With this many ends of jobs to record, the pool fetches even if no actor has room.
const ENOUGH_ENDS: usize = 24;

/// The operating mode of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PoolMode {
    /// Takes jobs and runs them.
    Running,
    /// Takes no jobs. Running jobs go on.
    Paused,
    /// Takes no jobs, and ends when the running jobs have ended.
    Draining,
}

/// Runs the pool: takes jobs, assigns them to actors, and records their ends. One fetch is under way at a time.
pub(super) struct Fetcher {
    store: Store,
    settings: Arc<PoolSettings>,
    actors: ActorSet,
    /// Each queue with the index of its actor, in the order in which they are served.
    queues: Arc<[(String, usize)]>,
    /// The queues that belong to no instance.
    shared_queues: Arc<[(String, usize)]>,
    layout_queues: Arc<LayoutQueues>,
    reports: mpsc::Receiver<Report>,
    stops: broadcast::Receiver<JobId>,
    /// Receives lost leases, each as its job and claim.
    losses: mpsc::Receiver<(JobId, u32)>,
    wake_up: Arc<Notify>,
    /// The room that this pool offers for direct starts.
    direct_start: Arc<DirectStart>,
    started: mpsc::UnboundedReceiver<DirectJob>,
    idle: watch::Sender<bool>,
    mode: watch::Receiver<PoolMode>,
    /// Whether there may be jobs in the queues, so that a fetch is worthwhile.
    may_have_jobs: bool,
    /// Whether there may be jobs in the queues of instances. They rarely have any, so a fetch looks there only then.
    instances_may_have_jobs: bool,
    /// The number of jobs that the fetch under way asked for.
    asked_for: usize,
    /// Whether Redis may count claims for this pool that the pool does not know of.
    unsure: bool,
    /// Whether the last comparison came too early, so that the pool makes another before it ends.
    compares_again: bool,
    reconciler: Reconciler,
    failing: Option<Failing>,
    wait_time: Histogram,
    run_time: Histogram,
}

/// Fetches that keep failing for one reason.
struct Failing {
    reason: String,
    since: Instant,
    logged: bool,
}

/// The answer to a call to Redis.
enum Answer {
    /// The answer to a fetch: the ends that it recorded, the number of jobs it asked for, and the result.
    Fetched(Vec<Ended>, usize, Result<Fetched, Error>),
    /// The claims that Redis counts for this pool.
    Held(Result<Vec<(JobId, u32)>, Error>),
}

/// A call to Redis that is under way.
type Call = Pin<Box<dyn Future<Output = Answer> + Send>>;

impl Fetcher {
    #[expect(clippy::too_many_arguments, reason = "the one place where the parts of a pool come together")]
    pub(super) fn new(
        store: Store,
        settings: Arc<PoolSettings>,
        registrations: &[Registration],
        actors: ActorSet,
        reports: mpsc::Receiver<Report>,
        losses: mpsc::Receiver<(JobId, u32)>,
        wake_up: Arc<Notify>,
        idle: watch::Sender<bool>,
        mode: watch::Receiver<PoolMode>,
    ) -> Self {
        let labels = store.labels([("script_type", settings.script_type.to_string())]);
        let queues: Arc<[(String, usize)]> = store.queues().of_registrations(registrations).into();
        let names = registrations.iter().map(ToString::to_string).collect();
        let layout_queues = Arc::new(store.queues().of_layouts(&settings.script_type, &settings.layouts));
        let leases = actors.leases().clone();
        let noted_lease: Option<NotedLease> =
            settings.may_speculate().then(|| Box::new(move |job: &JobId, claim| leases.add(job, claim)) as NotedLease);
        let (direct_start, started) =
            store.direct_starts().open(&settings.script_type, names, queues.iter().map(|(queue, _)| queue.clone()), noted_lease);
        Self {
            direct_start,
            started,
            actors,
            shared_queues: queues.iter().filter(|(_, owner)| *owner == 0).cloned().collect(),
            queues,
            layout_queues,
            stops: store.inbox().stops(),
            wait_time: metrics::histogram!("hero_job_wait_seconds", labels.clone()),
            run_time: metrics::histogram!("hero_job_run_seconds", labels),
            store,
            settings,
            reports,
            losses,
            wake_up,
            idle,
            mode,
            may_have_jobs: true,
            instances_may_have_jobs: true,
            asked_for: 0,
            unsure: false,
            compares_again: false,
            reconciler: Reconciler::default(),
            failing: None,
        }
    }

    /// Runs until shutdown, or until it is told to leave, and then until all ends are recorded.
    ///
    /// At shutdown, running jobs get the grace period. When the pool leaves or pauses, they may take as long as they
    /// need.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let (mut call, mut again_at, mut reports): (Option<Call>, Option<Instant>, Vec<Report>) = (None, None, Vec::new());
        let mut poll = tokio::time::interval(POLL_INTERVAL);
        let (mut stop_by, mut requeued): (Option<Instant>, bool) = (None, false);
        loop {
            let takes = stop_by.is_none() && *self.mode.borrow() == PoolMode::Running;
            if takes {
                self.actors.assign();
            } else {
                self.actors.requeue_waiting(false);
            }
            if self.direct_start.take_unsure() {
                self.unsure = true;
                self.reconciler.note_unanswered(self.store.periods().lease);
            }
            let stale = self.actors.oldest_waiting().map(|since| since + STALE_AFTER);
            let mut overdue = stale.is_some_and(|stale| Instant::now() >= stale);
            if overdue || !takes {
                self.direct_start.set_room(0);
            }
            let asked_for = if call.is_some() { self.asked_for } else { 0 };
            // A job that started directly is sent to `started` before `is_closed` returns true.
            let nothing_on_its_way = self.direct_start.is_closed() && self.started.is_empty();
            if nothing_on_its_way && asked_for == 0 {
                self.actors.forget_stops();
                if overdue {
                    // Only when nothing is on its way: a job that arrives later would be requeued in front of these.
                    self.actors.requeue_waiting(true);
                    overdue = false;
                }
            }
            if call.is_none() && again_at.is_none() {
                call = self.next_call(!takes || overdue);
            }
            if !overdue && takes {
                // Jobs on their way here take their room already.
                let taken = self.started.len() + if call.is_some() { self.asked_for } else { 0 };
                self.direct_start.set_room(self.actors.room().saturating_sub(taken));
            }
            let is_idle = self.actors.leases().len() == 0;
            self.idle.send_if_modified(|idle| std::mem::replace(idle, is_idle) != is_idle);
            let leaves = stop_by.is_some() || *self.mode.borrow() == PoolMode::Draining;
            let is_done = call.is_none() && !self.compares_again && self.actors.ends.is_empty() && self.actors.is_idle();
            if leaves && nothing_on_its_way && is_done {
                return;
            }
            tokio::select! {
                biased;
                answer = async { call.as_mut().expect("the branch has a condition").await }, if call.is_some() => {
                    call = None;
                    again_at = self.handle_answer(answer, leaves, stop_by);
                }
                _ = self.reports.recv_many(&mut reports, 64) => {
                    reports.drain(..).for_each(|report| self.handle_report(report));
                }
                Some(message) = self.started.recv() => match message {
                    DirectJob::Start(job) => self.add_job(job, Instant::now()),
                    DirectJob::Ended(ended) => self.actors.ends.push(ended),
                    DirectJob::Dropped(job, run) => self.actors.drop_runs(&job, |other| *other == run),
                },
                () = self.direct_start.closed(), if overdue || !takes => {}
                Some((job, claim)) = self.losses.recv() => self.actors.lose_claim(&job, claim),
                () = self.wake_up.notified() => self.look_everywhere(),
                stop = self.stops.recv() => match stop {
                    Ok(job) => self.actors.stop(&job, Instant::now()),
                    // A missed stop request is in the control queue, too.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = at(stale), if stale.is_some() && !overdue => {}
                () = at(again_at), if again_at.is_some() => again_at = None,
                _ = poll.tick() => {
                    self.look_everywhere();
                    self.unsure |= self.reconciler.has_more_to_compare();
                }
                Ok(()) = self.mode.changed() => self.look_everywhere(),
                () = shutdown.cancelled(), if stop_by.is_none() => stop_by = Some(Instant::now() + self.settings.grace),
                () = at(stop_by), if stop_by.is_some() && !requeued => {
                    requeued = true;
                    self.actors.requeue_running(self.store.clock().now());
                }
            }
        }
    }

    /// Returns the next call to Redis, if one is needed: a fetch, or a list of the claims that Redis counts for this
    /// pool.
    ///
    /// With `full` the fetch takes no jobs.
    fn next_call(&mut self, full: bool) -> Option<Call> {
        if self.unsure && self.actors.ends.is_empty() {
            self.asked_for = 0;
            let (store, settings) = (self.store.clone(), self.settings.clone());
            return Some(Box::pin(async move { Answer::Held(store.queues().list_leases(&settings.script_type, &settings.group).await) }));
        }
        if !full && self.actors.has_enough() && self.actors.ends.len() < ENOUGH_ENDS {
            // Every actor has its next job, so ends can wait for more: a fetch with one end costs as much as one with
            // many.
            return None;
        }
        let mut rooms = self.actors.rooms();
        let take = !full && !self.unsure && rooms.iter().any(|of_actor| of_actor.room > 0);
        if self.actors.ends.is_empty() && !(take && self.may_have_jobs) {
            return None;
        }
        if !self.may_have_jobs {
            // No queue is known to have jobs, so half of the room is kept for direct starts.
            rooms.iter_mut().for_each(|of_actor| of_actor.room = of_actor.room.div_ceil(2));
        }
        // Requeued jobs must be in their queues before jobs are taken from there, so a fetch that cannot record all
        // ends takes none.
        let take = take && self.actors.ends.len() <= MOST_ENDS;
        self.asked_for = if take { rooms.iter().map(|of_actor| of_actor.room).sum() } else { 0 };
        let rest = self.actors.ends.split_off(self.actors.ends.len().min(MOST_ENDS));
        let ends = std::mem::replace(&mut self.actors.ends, rest);
        let (store, settings) = (self.store.clone(), self.settings.clone());
        // A job that runs again may go back to the queue of its actor.
        self.instances_may_have_jobs |= ends.iter().any(|end| matches!(end.end, AttemptEnd::Crashed | AttemptEnd::Requeued));
        let queues = if self.instances_may_have_jobs { self.queues.clone() } else { self.shared_queues.clone() };
        let layout_queues = self.layout_queues.clone();
        // This fetch may miss jobs that are pushed to a queue from here on.
        self.may_have_jobs &= !take;
        self.instances_may_have_jobs &= !take;
        Some(Box::pin(async move {
            let (rooms, queues) = if take { (&rooms[..], &queues[..]) } else { (&[][..], &[][..]) };
            let fetch = Fetch { script_type: &settings.script_type, ends: &ends, actors: rooms, queues };
            let fetched = store.queues().fetch_and_import(&fetch, &layout_queues, settings.fair).await;
            Answer::Fetched(ends, rooms.iter().map(|of_actor| of_actor.room).sum(), fetched)
        }))
    }

    /// Handles an answer of Redis. After a failure, returns the time of the next try.
    /// If the pool leaves, claims that it does not know of are requeued without a delay.
    fn handle_answer(&mut self, answer: Answer, leaves: bool, stop_by: Option<Instant>) -> Option<Instant> {
        self.compares_again = false;
        match answer {
            Answer::Fetched(ends, wanted, Ok(fetched)) => {
                self.failing = None;
                for end in &ends {
                    self.actors.leases().remove(&end.job, end.claim);
                }
                // A fetch that got as many jobs as it asked for may have left some.
                self.may_have_jobs |= fetched.more || !fetched.taken.is_empty() && fetched.taken.len() >= wanted;
                self.instances_may_have_jobs |= fetched.more || fetched.instances_left;
                let now = Instant::now();
                fetched.taken.into_iter().for_each(|job| self.add_job(job, now));
                None
            }
            Answer::Fetched(mut ends, _, Err(error)) => {
                tracing::debug!(%error, "a fetch failed and is repeated");
                self.note_failure(&error);
                ends.append(&mut self.actors.ends);
                self.actors.ends = ends;
                self.unsure = true;
                self.look_everywhere();
                self.reconciler.note_unanswered(self.store.periods().lease);
                // After the grace period the pool no longer waits for Redis. The jobs run again when their leases have
                // expired.
                if stop_by.is_some_and(|until| Instant::now() >= until) {
                    self.actors.ends.clear();
                    self.unsure = false;
                }
                Some(Instant::now() + RETRY_DELAY)
            }
            // While a job is on its way here, a claim that is not known yet may be its.
            Answer::Held(Ok(_)) if leaves && !(self.direct_start.is_closed() && self.started.is_empty()) => {
                self.compares_again = true;
                Some(Instant::now() + RETRY_DELAY)
            }
            Answer::Held(Ok(mut held)) => {
                self.unsure = false;
                held.retain(|(job, _)| !self.actors.has_unstored(job));
                let lost = self.reconciler.compare(held, self.actors.leases(), leaves);
                let now = self.store.clock().now();
                // Redis knows the claim only. The attempt can be 0, because a requeued attempt is reported to nobody.
                let requeued = |(job, claim)| Ended::of(job, 0, claim, now, AttemptEnd::Requeued);
                self.actors.ends.extend(lost.into_iter().map(requeued));
                None
            }
            Answer::Held(Err(error)) => {
                self.note_failure(&error);
                self.unsure = stop_by.is_none_or(|until| Instant::now() < until);
                Some(Instant::now() + RETRY_DELAY)
            }
        }
    }

    /// Makes the next fetch look into all queues.
    fn look_everywhere(&mut self) {
        (self.may_have_jobs, self.instances_may_have_jobs) = (true, true);
    }

    /// Notes that a fetch failed. Logs it once when fetches have failed for a while, because the pool takes no jobs
    /// meanwhile.
    fn note_failure(&mut self, error: &Error) {
        let reason = error.to_string();
        let known = self.failing.take_if(|failing| failing.reason == reason);
        let failing = known.unwrap_or_else(|| Failing { reason, since: Instant::now(), logged: false });
        let lasts = failing.since.elapsed() >= LASTING_FAILURE;
        if lasts && !failing.logged {
            tracing::warn!(%error, script_type = %self.settings.script_type, "fetching jobs keeps failing, so this pool runs none; retrying");
        }
        self.failing = Some(Failing { logged: failing.logged || lasts, ..failing });
    }

    /// Adds a job that was taken for this pool.
    fn add_job(&mut self, job: Claimed, now: Instant) {
        if let Some(queued) = job.queued_at {
            self.wait_time.record(job.started_at.since(queued).as_secs_f64());
        }
        self.actors.add_job(job, now);
    }

    fn handle_report(&mut self, report: Report) {
        self.may_have_jobs |= matches!(report, Report::Ready { .. });
        if let Some(ran) = self.actors.handle_report(report, self.store.clock().now()) {
            self.run_time.record(ran.as_secs_f64());
        }
    }
}

async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
