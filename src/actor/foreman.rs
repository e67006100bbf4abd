use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use metrics::Histogram;
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::actor_set::ActorSet;
use super::prefetch::STALE;
use super::reconcile::Reconciler;
use super::settings::PoolSettings;
use super::worker::Report;
use crate::model::JobId;
use crate::store::{Claimed, CompatQueues, Ended, Error, Opening, Post, Store, Turn, Turned};

/// The queues are looked at this often, whatever wakes us.
const POLL: Duration = Duration::from_secs(1);
/// A turn that fails for so long for one reason is said to.
const LASTING: Duration = Duration::from_secs(5);
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
    actors: ActorSet,
    /// Each with the index of the actor it belongs to, in the order in which they are served.
    queues: Arc<[(String, usize)]>,
    compat: Arc<CompatQueues>,
    reports: mpsc::Receiver<Report>,
    stops: broadcast::Receiver<JobId>,
    /// Claims whose lease was lost.
    losses: mpsc::Receiver<(JobId, u32)>,
    bell: Arc<Notify>,
    /// Room for jobs that start in the script that stores them.
    opening: Arc<Opening>,
    started: mpsc::UnboundedReceiver<Claimed>,
    idle: watch::Sender<bool>,
    /// Whether there may be jobs in the queues.
    hungry: bool,
    /// How many jobs the turn that is under way asked for.
    asked_for: usize,
    /// Whether Redis may count jobs as taken by this pool that the pool does not know of.
    unsure: bool,
    reconciler: Reconciler,
    trouble: Option<Trouble>,
    wait_time: Histogram,
    run_time: Histogram,
}

/// Why turns fail.
struct Trouble {
    reason: String,
    since: Instant,
    said: bool,
}

/// What is under way with Redis.
enum News {
    /// What was said, how much was asked for, and the answer.
    Turned(Vec<Ended>, usize, Result<Turned, Error>),
    Held(Result<Vec<(JobId, u32)>, Error>),
}

type Talk = Pin<Box<dyn Future<Output = News> + Send>>;

impl Foreman {
    #[expect(clippy::too_many_arguments, reason = "the one place where the parts of a pool come together")]
    pub(super) fn new(
        store: Store,
        settings: Arc<PoolSettings>,
        posts: &[Post],
        actors: ActorSet,
        reports: mpsc::Receiver<Report>,
        losses: mpsc::Receiver<(JobId, u32)>,
        bell: Arc<Notify>,
        idle: watch::Sender<bool>,
    ) -> Self {
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
            queues,
            compat,
            stops: store.inbox().stops(),
            wait_time: metrics::histogram!("hero_job_wait_seconds", labels.clone()),
            run_time: metrics::histogram!("hero_job_run_seconds", labels),
            store,
            settings,
            reports,
            losses,
            bell,
            idle,
            hungry: true,
            asked_for: 0,
            unsure: false,
            reconciler: Reconciler::default(),
            trouble: None,
        }
    }

    /// Works until shutdown, then until nothing is left to record.
    pub(super) async fn run(mut self, shutdown: CancellationToken) {
        let (mut talk, mut again_at, mut reports): (Option<Talk>, Option<Instant>, Vec<Report>) = (None, None, Vec::new());
        let mut poll = tokio::time::interval(POLL);
        let (mut leaving, mut killing): (Option<Instant>, bool) = (None, false);
        loop {
            if leaving.is_none() {
                self.actors.assign();
            }
            if self.opening.take_unsure() {
                self.unsure = true;
                self.reconciler.note_unanswered(self.store.periods().lease);
            }
            let stale = self.actors.oldest_waiting().map(|since| since + STALE);
            let mut overdue = stale.is_some_and(|stale| Instant::now() >= stale);
            if overdue || leaving.is_some() {
                self.opening.set_room(0);
            }
            let asked_for = if talk.is_some() { self.asked_for } else { 0 };
            // Whoever filled a reservation has sent the job before it is given back.
            let nothing_comes = self.opening.is_closed() && self.started.is_empty();
            if nothing_comes && asked_for == 0 {
                self.actors.forget_stops();
                if overdue {
                    // What is on its way was taken later: it would be put before what is given back now.
                    self.actors.give_back_what_waits(true);
                    overdue = false;
                }
            }
            if talk.is_none() && again_at.is_none() {
                talk = self.next_talk(leaving.is_some() || overdue);
            }
            if !overdue && leaving.is_none() {
                self.opening.set_room(self.actors.room().saturating_sub(if talk.is_some() { self.asked_for } else { 0 }));
            }
            let rests = self.actors.leases().len() == 0;
            self.idle.send_if_modified(|idle| std::mem::replace(idle, rests) != rests);
            if leaving.is_some() && nothing_comes && talk.is_none() && self.actors.ends.is_empty() && self.actors.is_idle() {
                return;
            }
            tokio::select! {
                biased;
                news = async { talk.as_mut().expect("the branch has a condition").await }, if talk.is_some() => {
                    talk = None;
                    again_at = self.hear(news, leaving);
                }
                _ = self.reports.recv_many(&mut reports, 64) => {
                    reports.drain(..).for_each(|report| self.handle_report(report));
                }
                Some(job) = self.started.recv() => {
                    self.add_job(job, Instant::now());
                    if leaving.is_some() {
                        self.actors.give_back_what_waits(false);
                    }
                }
                () = self.opening.closed(), if overdue || leaving.is_some() => {}
                Some((job, claim)) = self.losses.recv() => self.actors.lose(&job, |other| other == claim),
                () = self.bell.notified() => self.hungry = true,
                stop = self.stops.recv() => match stop {
                    Ok(job) => self.actors.stop(&job, Instant::now()),
                    // A stop request that was missed here is in the control queue, too.
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                },
                () = at(stale), if stale.is_some() && !overdue => {}
                () = at(again_at), if again_at.is_some() => again_at = None,
                _ = poll.tick() => {
                    self.hungry = true;
                    self.unsure |= self.reconciler.has_more_to_compare();
                }
                () = shutdown.cancelled(), if leaving.is_none() => {
                    leaving = Some(Instant::now() + self.settings.grace);
                    self.actors.give_back_what_waits(false);
                }
                () = at(leaving), if leaving.is_some() && !killing => {
                    killing = true;
                    self.actors.give_back_what_runs(self.store.clock().now());
                }
            }
        }
    }

    /// A turn, if there is something to say or to ask for; or a look at which leases this pool has as Redis sees it.
    ///
    /// It asks for nothing if `full`.
    fn next_talk(&mut self, full: bool) -> Option<Talk> {
        if self.unsure && self.actors.ends.is_empty() {
            self.asked_for = 0;
            let (store, settings) = (self.store.clone(), self.settings.clone());
            return Some(Box::pin(async move { News::Held(store.held(&settings.script_type, &settings.group).await) }));
        }
        if !full && self.actors.has_enough() && self.actors.ends.len() < ENOUGH_ENDS {
            // Every actor has its next job: what ended can wait for more, because a turn with one costs as much as one with many.
            return None;
        }
        let mut slots = self.actors.slots();
        let take = !full && !self.unsure && slots.iter().any(|slot| slot.room > 0);
        if self.actors.ends.is_empty() && !(take && self.hungry) {
            return None;
        }
        if !self.hungry {
            // Nobody said that there is work: half of the room is left to jobs that start as they are stored.
            slots.iter_mut().for_each(|slot| slot.room = slot.room.div_ceil(2));
        }
        // What is given back goes into its queue before anything is taken from there.
        let take = take && self.actors.ends.len() <= MOST_ENDS;
        self.asked_for = if take { slots.iter().map(|slot| slot.room).sum() } else { 0 };
        let rest = self.actors.ends.split_off(self.actors.ends.len().min(MOST_ENDS));
        let ends = std::mem::replace(&mut self.actors.ends, rest);
        let (store, settings, queues, compat) = (self.store.clone(), self.settings.clone(), self.queues.clone(), self.compat.clone());
        self.hungry &= !take;
        Some(Box::pin(async move {
            let (slots, queues) = if take { (&slots[..], &queues[..]) } else { (&[][..], &[][..]) };
            let turn = Turn { script_type: &settings.script_type, ends: &ends, slots, queues };
            let turned = store.turn_and_adopt(&turn, &compat, settings.fair).await;
            News::Turned(ends, slots.iter().map(|slot| slot.room).sum(), turned)
        }))
    }

    /// Takes in what Redis answered; after a failure, gives the time to try again.
    fn hear(&mut self, news: News, leaving: Option<Instant>) -> Option<Instant> {
        match news {
            News::Turned(ends, wanted, Ok(turned)) => {
                self.trouble = None;
                for end in &ends {
                    self.actors.leases().remove(&end.job, end.claim);
                }
                // Where all was found that was asked for there may be more.
                self.hungry |= turned.more || !turned.taken.is_empty() && turned.taken.len() >= wanted;
                let now = Instant::now();
                turned.taken.into_iter().for_each(|job| self.add_job(job, now));
                if leaving.is_some() {
                    self.actors.give_back_what_waits(false);
                }
                None
            }
            News::Turned(mut ends, _, Err(error)) => {
                tracing::debug!(%error, "a turn failed and is taken again");
                self.worry(&error);
                ends.append(&mut self.actors.ends);
                self.actors.ends = ends;
                (self.unsure, self.hungry) = (true, true);
                self.reconciler.note_unanswered(self.store.periods().lease);
                // A pool that leaves does not wait for a Redis that is gone: leases bring the jobs back.
                if leaving.is_some_and(|until| Instant::now() >= until) {
                    self.actors.ends.clear();
                    self.unsure = false;
                }
                Some(Instant::now() + PAUSE)
            }
            News::Held(Ok(held)) => {
                self.unsure = false;
                let lost = self.reconciler.compare(held, self.actors.leases(), leaving.is_some());
                let now = self.store.clock().now();
                self.actors.ends.extend(lost.into_iter().map(|(job, claim)| Ended::released(job, claim, now)));
                None
            }
            News::Held(Err(error)) => {
                self.worry(&error);
                self.unsure = leaving.is_none_or(|until| Instant::now() < until);
                Some(Instant::now() + PAUSE)
            }
        }
    }

    /// Says once what has kept turns from being taken for a while: no job runs meanwhile.
    fn worry(&mut self, error: &Error) {
        let reason = error.to_string();
        let known = self.trouble.take_if(|trouble| trouble.reason == reason);
        let trouble = known.unwrap_or_else(|| Trouble { reason, since: Instant::now(), said: false });
        let lasts = trouble.since.elapsed() >= LASTING;
        if lasts && !trouble.said {
            tracing::warn!(%error, script_type = %self.settings.script_type, "turns keep failing, so this pool takes no jobs; it tries again");
        }
        self.trouble = Some(Trouble { said: trouble.said || lasts, ..trouble });
    }

    /// Takes in a job that was taken for this pool.
    fn add_job(&mut self, job: Claimed, now: Instant) {
        if let Some(queued) = job.queued_at {
            self.wait_time.record(job.started_at.since(queued).as_secs_f64());
        }
        self.actors.add_job(job, now);
    }

    fn handle_report(&mut self, report: Report) {
        self.hungry |= matches!(report, Report::Ready { .. });
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
