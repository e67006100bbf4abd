use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::looks::Looks;
use super::messaging::MessagingQueue;
use super::opening::Why;
use super::{Hosting, IDLE_TIME, Pools, TIME_SLICE};
use crate::model::{ContextId, ContextStatus};
use crate::server::pools::queues_everywhere;
use crate::service::{Service, until_pulse};
use crate::store::{Databases, Error, Pending};

/// Manages the contexts made at run time: opens those in which something is due, lets those that want pools take turns,
/// and closes idle ones.
pub(crate) struct Rotation {
    hosting: Hosting,
    databases: Option<Arc<Databases>>,
    /// The context after which the next scan continues.
    at: Option<ContextId>,
    /// The time of the next scan.
    next_scan: Instant,
    /// The last looks at sleeping contexts.
    looks: Looks,
    /// The queues from which pools here take jobs in any context.
    queues: Vec<String>,
    /// The time at which each sleeping context is next opened for maintenance.
    tidied: HashMap<ContextId, Instant>,
    /// The contexts to open only for their messages.
    messaging: MessagingQueue,
    /// The time of the next check for contexts that may sleep.
    next_check: Instant,
}

/// Interval of scans for due work.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);
/// The maximum number of contexts per scan: about ten milliseconds for Redis.
const CONTEXTS_PER_SCAN: usize = 500;
/// Work due within this time opens its context, because a scan and the opening take time.
const OPEN_AHEAD: Duration = Duration::from_secs(4);
/// Interval at which permits are checked while contexts wait for one.
const PERMIT_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which a sleeping context is opened for maintenance: its indexes are trimmed, and jobs of other programs
/// that are in no queue are found.
const MAINTENANCE_INTERVAL: Duration = Duration::from_secs(6 * 3600);

impl Rotation {
    /// Creates the rotation. A Redis Cluster has no databases to scan, so all contexts are open there.
    pub(crate) fn new(hosting: Hosting) -> Result<Self, Error> {
        let databases = match hosting.0.dispatcher.contexts().opened(ContextId(0)) {
            Ok(home) => home.contexts().databases()?.map(Arc::new),
            Err(_) => None,
        };
        let queues = queues_everywhere(&hosting.0.settings);
        Ok(Self {
            hosting,
            databases,
            at: None,
            next_scan: Instant::now(),
            looks: Looks::default(),
            queues,
            tidied: HashMap::new(),
            messaging: MessagingQueue::default(),
            next_check: Instant::now(),
        })
    }

    /// Scans contexts that sleep or have no pools for due work.
    async fn look(&mut self) -> Result<(), Error> {
        let running: BTreeSet<ContextId> = {
            let hosted = self.hosting.hosted();
            let is_running = |pools: &Pools| matches!(pools, Pools::Running(_) | Pools::Starting);
            hosted.iter().filter(|(_, hosted)| is_running(&hosted.pools)).map(|(id, _)| *id).collect()
        };
        let is_quiet = |id: &ContextId| self.hosting.is_made(*id) && !running.contains(id);
        let active = self.hosting.0.authority.contexts().into_iter().filter(|context| context.status == ContextStatus::Active);
        let mut quiet: Vec<ContextId> = active.map(|context| context.context_id).filter(is_quiet).collect();
        self.tidied.retain(|id, _| self.hosting.0.authority.context(*id).is_some());
        self.messaging.retain(|id| self.hosting.0.authority.context(id).is_some());
        let Some(databases) = self.databases.clone() else {
            for context in quiet {
                self.wake(context);
            }
            return Ok(());
        };
        let now = self.hosting.0.dispatcher.contexts().opened(ContextId(0)).map(|home| home.clock().now());
        let Ok(now) = now else { return Ok(()) };
        // At rest the numbers of their keys tell which contexts need no look.
        let sizes = if quiet.is_empty() { BTreeMap::new() } else { databases.sizes().await? };
        self.looks.retain(&quiet);
        quiet.retain(|id| self.looks.is_due(*id, sizes.get(id).copied().unwrap_or_default(), now.plus(OPEN_AHEAD)));
        // Contexts after the last scanned one come first, then the others.
        let behind = quiet.iter().filter(|id| self.at.is_some_and(|at| **id <= at)).count();
        quiet.rotate_left(behind);
        quiet.truncate(CONTEXTS_PER_SCAN);
        self.at = quiet.last().copied().or(self.at);
        let mut failed = None;
        for (id, pending) in databases.pending(&quiet, &self.queues).await? {
            let pending = match pending {
                Ok(pending) => pending,
                // Continue with the other contexts.
                Err(error) => {
                    failed = Some(error);
                    continue;
                }
            };
            let is_due = pending.work || pending.due.is_some_and(|due| due <= now.plus(OPEN_AHEAD));
            let wakes = is_due || self.wants_tidying(id, pending);
            if wakes {
                self.wake(id);
            }
            let has_messages = pending.messages.is_some_and(|at| at <= now);
            self.messaging.note(id, !wakes && has_messages && !self.hosting.hosted().contains_key(&id));
            if !wakes && !has_messages {
                self.looks.note(id, pending);
            }
        }
        self.open_for_messages();
        failed.map_or(Ok(()), Err)
    }

    /// Whether a context should be opened so that its loops maintain its data. One of its keys is the context itself.
    fn wants_tidying(&mut self, id: ContextId, pending: Pending) -> bool {
        let now = Instant::now();
        // The first round is spread, so that not all are opened together.
        let due = self.tidied.entry(id).or_insert_with(|| now + MAINTENANCE_INTERVAL.mul_f64(rand::random()));
        let wants = pending.keys > 1 && *due <= now;
        if wants {
            *due = now + MAINTENANCE_INTERVAL;
        }
        wants
    }

    /// Opens a context in the background, if it is not open, and starts its pools.
    fn wake(&self, context: ContextId) {
        let hosting = self.hosting.clone();
        self.hosting.0.tasks.spawn(async move {
            match hosting.open(context, Why::Due).await {
                Ok(()) => hosting.run(context).await,
                Err(error) => tracing::debug!(%context, %error, "a context cannot be opened now"),
            }
        });
    }

    /// Opens contexts that only have messages under way, as many as there are permits. Closes others to make room for
    /// the rest.
    fn open_for_messages(&mut self) {
        for context in self.messaging.next(self.hosting.free_messaging_permits(), Instant::now()) {
            let Some(messaging) = self.hosting.messaging_permit() else { break };
            let hosting = self.hosting.clone();
            self.hosting.0.tasks.spawn(async move {
                if let Err(error) = hosting.open(context, Why::Messages(messaging)).await {
                    tracing::debug!(%context, %error, "a context cannot be opened now for its messages");
                }
            });
        }
        self.hosting.end_messaging(self.messaging.waiting());
    }

    /// Gives permits to waiting contexts, makes contexts whose turn is over give up theirs, and closes idle contexts.
    ///
    /// A turn never requeues a job, because the job would start over in the next turn. While any context waits, all
    /// whose turn is over take no jobs, and those whose running jobs end first give up their permits. So a long job
    /// blocks no permit that another context can give. When none waits any more, they take jobs again.
    async fn take_turns(&mut self) {
        let now = Instant::now();
        let (mut waiting, mut running, mut idle, mut ending) = (Vec::new(), Vec::new(), Vec::new(), 0);
        {
            let mut all = self.hosting.hosted();
            for (id, hosted) in all.iter_mut().filter(|(_, hosted)| !hosted.is_pinned) {
                match &hosted.pools {
                    Pools::Running(of_context) => {
                        let has_jobs = of_context.pools.pools.iter().any(|entry| entry.pool.status.jobs() > 0);
                        if has_jobs {
                            hosted.busy = now;
                        }
                        running.push((!has_jobs, now - hosted.busy, now - of_context.since, of_context.is_paused, *id));
                    }
                    Pools::None => match hosted.waits_since {
                        Some(since) if since <= now => waiting.push((since, *id)),
                        Some(_) => {}
                        None if now - hosted.busy >= IDLE_TIME => idle.push(*id),
                        None => {}
                    },
                    Pools::Ending(_) => ending += 1,
                    Pools::Starting => {}
                }
            }
        }
        waiting.sort_unstable();
        let free = self.hosting.0.context_permits.available_permits();
        for (_, id) in waiting.iter().take(free) {
            self.wake(*id);
        }
        // The longest idle ones go first.
        running.sort_unstable_by(|one, other| other.cmp(one));
        let mut wanted = waiting.len().saturating_sub(free + ending);
        let does_any_wait = wanted > 0;
        for (has_none, quiet, since, is_paused, id) in running {
            let is_asked = does_any_wait && (quiet >= SCAN_INTERVAL || since >= TIME_SLICE);
            // It has taken no jobs since the last check, so no long one has just begun.
            let gives_permit = wanted > 0 && is_asked && has_none && is_paused;
            if quiet >= IDLE_TIME || gives_permit {
                wanted = wanted.saturating_sub(1);
                self.hosting.end_pools(id);
            } else {
                self.hosting.pause_pools(id, is_asked);
            }
        }
        // Turns are checked more often than idle contexts.
        if !idle.is_empty() && now >= self.next_check {
            self.next_check = now + until_pulse(SCAN_INTERVAL);
            for id in self.may_sleep(&idle).await {
                self.hosting.shut(id, Some(IDLE_TIME)).await;
            }
        }
    }

    /// Returns those of these open contexts without pools in which nothing is due soon. A context with messages stays
    /// open if a permit is free.
    async fn may_sleep(&self, ids: &[ContextId]) -> Vec<ContextId> {
        let Some(databases) = &self.databases else { return Vec::new() };
        let Ok(now) = self.hosting.0.dispatcher.contexts().opened(ContextId(0)).map(|home| home.clock().now()) else { return Vec::new() };
        let Ok(pending) = databases.pending(ids, &self.queues).await else { return Vec::new() };
        let is_nothing = |pending: &Pending| !pending.work && pending.due.is_none_or(|due| due > now.plus(IDLE_TIME));
        let quiet = pending.into_iter().filter_map(|(id, pending)| Some((id, pending.ok().filter(is_nothing)?)));
        quiet
            .filter(|(id, pending)| !(pending.messages.is_some_and(|at| at <= now) && self.hosting.stays_for_messages(*id)))
            .map(|(id, _)| id)
            .collect()
    }
}

impl Service for Rotation {
    type Error = Error;

    const NAME: &'static str = "opening and closing contexts";

    async fn tick(&mut self) -> Result<Duration, Error> {
        self.take_turns().await;
        let now = Instant::now();
        if now >= self.next_scan {
            self.next_scan = now + until_pulse(SCAN_INTERVAL);
            self.look().await?;
        }
        let waits = self.hosting.hosted().values().any(|hosted| hosted.waits_since.is_some());
        let pause = if waits { PERMIT_CHECK_INTERVAL } else { until_pulse(SCAN_INTERVAL) };
        // Checks at once when a permit is free or wanted.
        let _ = tokio::time::timeout(pause, self.hosting.0.moved.notified()).await;
        Ok(Duration::ZERO)
    }
}
