//! Sends the messages of one context to other nodes, and its jobs to runners elsewhere.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::select_all;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::delivery::{Delivered, Delivery};
use super::{recording, runner_job};
use hero_model::{Address, ContextId, MessageKey, MessageList, MessageType, Runner, RunnerId, ScriptType};
use hero_service::{Service, until_pulse};
use hero_store::{Error, MessageNames, Score, Settled, StopTold};

/// Maximum number of messages that a node sends at a time, in each context.
const MAX_MESSAGES_IN_FLIGHT: usize = 128;
/// Maximum number of jobs of a runner that one call sends, and of runners in a round.
const MAX_JOBS_PER_CALL: usize = 32;
const MAX_RUNNERS_PER_ROUND: usize = 256;
/// Minimum time between two searches for jobs, per runner, so that many runners take little of the time of Redis.
const SEARCH_INTERVAL_PER_RUNNER: Duration = Duration::from_micros(100);
/// The pauses: while there is traffic, while an answer is awaited, while there are runners elsewhere, and otherwise.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
const AWAITING_PAUSE: Duration = Duration::from_millis(50);
const WITH_RUNNERS_PAUSE: Duration = Duration::from_millis(250);
const IDLE_PAUSE: Duration = Duration::from_secs(1);
/// Minimum time after a round before arriving jobs start the next: this time, or this multiple of the duration of the
/// round.
const MIN_ROUND_PAUSE: Duration = Duration::from_millis(20);
const ROUND_PAUSE_FACTOR: u32 = 4;
/// The interval of checks for changed runners.
const RUNNER_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of runners that are read at once, and of incoming messages.
const RUNNERS_PER_READ: usize = 1000;
const INCOMING_PER_READ: usize = 64;
/// Maximum number of connections that are opened at once.
const MAX_CONCURRENT_CONNECTS: usize = 8;
/// Time that a message rests after a failed attempt, at first and at most.
const FIRST_REST: Duration = Duration::from_millis(250);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// Maximum number of messages whose last failure is remembered.
const MOST_FAILED: usize = 10_000;

/// The last rest of a message that did not arrive, and the reason.
struct SendBackoff {
    length: Duration,
    why: String,
}

/// Sends the messages of one context.
pub(super) struct Outgoing {
    delivery: Arc<Delivery>,
    node: String,
    wake: Arc<Notify>,
    pause: Duration,
    /// The runners elsewhere, as of `revision`.
    runners: Vec<Runner>,
    revision: Option<Option<u64>>,
    /// Notified when jobs of the runners' script types arrive here.
    arrivals: BTreeMap<ScriptType, Arc<Notify>>,
    /// The duration of the last round.
    took: Duration,
    /// The runner after which the next search for jobs begins, and the time of that search.
    served: Option<RunnerId>,
    next_look: Instant,
    looked: Option<Instant>,
    /// The time at which the connections to remote contexts of awaited results were last opened.
    opened: Option<Instant>,
    /// The tasks that open connections.
    opening: JoinSet<()>,
    deliveries: JoinSet<(MessageKey, Delivered)>,
    /// The messages whose stops are being sent to the other side.
    stopping: JoinSet<(MessageKey, StopTold)>,
    in_flight: HashSet<MessageKey>,
    failed: HashMap<MessageKey, SendBackoff>,
    /// Messages in `msg_in` that are for their owners.
    for_owners: HashSet<MessageKey>,
    from: usize,
}

impl Outgoing {
    pub(super) fn new(delivery: Arc<Delivery>, wake: Arc<Notify>) -> Self {
        let node = delivery.sender.clone();
        let (runners, in_flight, failed, for_owners) = Default::default();
        Self {
            delivery,
            node,
            wake,
            pause: BUSY_PAUSE,
            runners,
            revision: None,
            arrivals: BTreeMap::new(),
            took: Duration::ZERO,
            served: None,
            next_look: Instant::now(),
            looked: None,
            opened: None,
            opening: JoinSet::new(),
            deliveries: JoinSet::new(),
            stopping: JoinSet::new(),
            in_flight,
            failed,
            for_owners,
            from: 0,
        }
    }

    /// Reads the runners again if one has changed, and keeps the connections open to the remote contexts of awaited
    /// results.
    async fn look_for_runners(&mut self) -> Result<(), Error> {
        if self.looked.is_some_and(|looked| looked.elapsed() < RUNNER_CHECK_INTERVAL) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let delivery = Arc::clone(&self.delivery);
        let revision = delivery.store.runners().revision().await?;
        let mut remotes = Vec::new();
        if revision.is_none() || self.revision != Some(revision) {
            self.runners = self.read_runners().await?;
            if self.revision.is_none() && !(self.runners.is_empty() && delivery.routes.nodes.is_empty()) {
                self.warn_of_other_nodes().await?;
            }
            self.revision = Some(revision);
            let types: BTreeSet<&ScriptType> = self.runners.iter().map(|runner| &runner.script_type).collect();
            self.arrivals.retain(|script_type, _| types.contains(script_type));
            for script_type in types {
                let register = || delivery.store.wake_ups().register(script_type);
                self.arrivals.entry(script_type.clone()).or_insert_with(register);
            }
            remotes.extend(self.runners.iter().filter_map(|runner| Some((runner.address.clone()?, runner.target_context))));
        }
        if self.opened.is_none_or(|opened| opened.elapsed() >= delivery.routes.look_again()) {
            remotes.extend(delivery.store.messages().awaited_places().await?);
            self.opened = Some(Instant::now());
        }
        self.open(remotes);
        Ok(())
    }

    /// Warns of other node keys: any server of a context may take what comes for it, and each signs for all of them.
    async fn warn_of_other_nodes(&self) -> Result<(), Error> {
        let (context, own) = (self.delivery.store.context(), self.delivery.key.name());
        let senders = self.delivery.store.messages().sending_nodes().await?;
        let others: BTreeSet<&str> =
            senders.iter().map(|sender| sender.split('-').next().unwrap_or(sender)).filter(|other| *other != own).collect();
        for other in others {
            tracing::warn!(
                %context, %other, %own,
                "another server of this Redis has, or just had, another node key, so nodes that know only one of the keys refuse results signed by the other: give all servers the same node_key_file and nodes"
            );
        }
        Ok(())
    }

    async fn read_runners(&self) -> Result<Vec<Runner>, Error> {
        let (mut found, mut after) = (Vec::new(), Score::from(0));
        loop {
            let (page, next) = self.delivery.store.runners().list(after, RUNNERS_PER_READ).await?;
            found.extend(page.into_iter().filter(|runner| !runner.local));
            match next {
                Some(next) => after = next,
                None => return Ok(found),
            }
        }
    }

    /// Opens the connections to remote contexts, after those that are being opened. One that cannot be reached is tried
    /// again with the next message or check.
    fn open(&mut self, remotes: Vec<(Address, ContextId)>) {
        while self.opening.try_join_next().is_some() {}
        if remotes.is_empty() || self.opening.len() >= MAX_CONCURRENT_CONNECTS {
            return;
        }
        let delivery = Arc::clone(&self.delivery);
        self.opening.spawn(async move {
            let open = |(address, context): (Address, ContextId)| {
                let delivery = &delivery;
                async move { drop(delivery.routes.find(&delivery.store, &address, context).await) }
            };
            futures_util::stream::iter(remotes).map(open).buffer_unordered(MAX_CONCURRENT_CONNECTS).collect::<()>().await;
        });
    }

    /// Creates the jobs of messages that another program put into `msg_in`. Other messages stay for their owners.
    ///
    /// Each call reads the newest messages, and a part of all others.
    async fn make_jobs(&mut self, unread: u64) -> Result<bool, Error> {
        let store = &self.delivery.store;
        if usize::try_from(unread).unwrap_or(usize::MAX) <= self.from {
            self.from = 0;
        }
        let Some(MessageNames { mut names, .. }) = store.messages().newest(INCOMING_PER_READ).await? else { return Ok(false) };
        let Some(part) = store.messages().listed(MessageList::In, self.from, INCOMING_PER_READ).await? else { return Ok(false) };
        self.from += part.looked_at;
        names.extend(part.names);
        let mut seen = HashSet::new();
        names.retain(|name| !self.for_owners.contains(name) && seen.insert(*name));
        let mut made = false;
        for (name, stored) in names.iter().zip(store.messages().get_all(&names).await?) {
            // Where it is missing, it may be written in a moment.
            let Some(stored) = stored else { continue };
            if stored.shown.message_type == MessageType::Job {
                // A message whose record cannot be written stays for later.
                let Ok(mut doing) = self.delivery.dispatcher.audit().begin(|| recording::of_other_program(*name, store.context())) else {
                    break;
                };
                let longest_script =
                    self.delivery.dispatcher.contexts().opened(store.context()).map_or(usize::MAX, |open| open.longest_script());
                let jobs = runner_job::read(&stored.job, name.caller_id, name.message_id, longest_script);
                match store.messages().make_runner_jobs(*name, &jobs).await? {
                    Some(jobs) => {
                        doing.end(|record| recording::made(record, &jobs));
                        made = true;
                    }
                    None => doing.give_up(),
                }
                continue;
            }
            if self.for_owners.len() >= RUNNERS_PER_READ * 10 {
                self.for_owners.clear();
            }
            self.for_owners.insert(*name);
        }
        Ok(made)
    }

    /// Records the outcomes of messages that were being sent. Returns true if there were any.
    async fn settle_deliveries(&mut self) -> Result<bool, Error> {
        let mut settled_any = false;
        while let Some(done) = self.deliveries.try_join_next() {
            settled_any = true;
            // A message whose task panicked is sent again, as after the death of this process.
            let Ok((key, delivered)) = done else {
                self.in_flight.clear();
                continue;
            };
            self.in_flight.remove(&key);
            let settled = match delivered {
                Delivered::Settled(settled) => {
                    self.failed.remove(&key);
                    settled
                }
                Delivered::Later { why, rest, most } => {
                    if self.failed.get(&key).is_none_or(|before| before.why != why) {
                        let context = self.delivery.store.context();
                        // A remote context that does not answer is logged once for all its messages.
                        if rest.is_none() {
                            tracing::warn!(message = %key, %context, "a message was not delivered; retrying until its timeout_ack: {why}");
                        }
                        // Its error has what was said last, so nothing depends on this.
                        let _ = self.delivery.store.messages().note(key, &why).await;
                    }
                    Settled::Later(self.rest(key, why, rest).min(most))
                }
            };
            if let Settled::Failed(_, why) | Settled::Over(why) = &settled {
                tracing::warn!(message = %key, context = %self.delivery.store.context(), "a message was not delivered: {why}");
            }
            self.delivery.store.messages().settle(&self.node, key, &settled).await?;
        }
        while let Some(done) = self.stopping.try_join_next() {
            // A stop whose task panicked is sent again, as after the death of this process.
            let Ok((key, told)) = done else { continue };
            if let StopTold::Over(why) = &told {
                let context = self.delivery.store.context();
                tracing::warn!(message = %key, %context, "could not forward the stop of a job, which may still be running on the other node: {why}");
            }
            settled_any |= self.delivery.store.messages().settle_stop(key, &told).await?;
        }
        Ok(settled_any)
    }

    /// Returns the time that a message rests after a failure. It grows each time, unless `rest` gives it.
    fn rest(&mut self, key: MessageKey, why: String, rest: Option<Duration>) -> Duration {
        let before = self.failed.get(&key).map_or(FIRST_REST / 2, |rest| rest.length);
        let length = rest.unwrap_or_else(|| (before * 2).min(LONGEST_REST));
        if self.failed.len() >= MOST_FAILED && !self.failed.contains_key(&key) {
            let other = self.failed.keys().next().copied();
            other.and_then(|other| self.failed.remove(&other));
        }
        self.failed.insert(key, SendBackoff { length: rest.map_or(length, |_| before), why });
        length
    }

    /// Turns waiting jobs of runners into messages. Each call starts with another runner, so that all get a share of
    /// the room.
    async fn send_jobs(&mut self) -> Result<bool, Error> {
        if self.runners.is_empty() || Instant::now() < self.next_look {
            return Ok(false);
        }
        let Delivery { store, ack, result, .. } = &*self.delivery;
        let with_jobs = store.runners().with_jobs(&self.runners).await?;
        self.next_look = Instant::now() + SEARCH_INTERVAL_PER_RUNNER * u32::try_from(self.runners.len()).unwrap_or(u32::MAX);
        let mut waiting: Vec<&Runner> = self.runners.iter().filter(|runner| with_jobs.contains(&runner.runner_id)).collect();
        let before = waiting.iter().filter(|runner| self.served.is_some_and(|last| runner.runner_id <= last)).count();
        waiting.rotate_left(before);
        // If all runners have a turn, the next search begins with the second of them.
        self.served = if waiting.len() > MAX_RUNNERS_PER_ROUND { waiting.get(MAX_RUNNERS_PER_ROUND - 1) } else { waiting.first() }
            .map(|runner| runner.runner_id);
        let mut moved = false;
        for runner in waiting.into_iter().take(MAX_RUNNERS_PER_ROUND) {
            moved |= unless_full(store.messages().send_jobs(runner, MAX_JOBS_PER_CALL, *ack, *result).await)? > 0;
        }
        Ok(moved)
    }

    async fn round(&mut self) -> Result<Duration, Error> {
        let mut moved = self.settle_deliveries().await?;
        self.look_for_runners().await?;
        moved |= self.send_jobs().await?;
        let store = &self.delivery.store;
        let work = store.messages().tend(&self.node, MAX_MESSAGES_IN_FLIGHT).await?;
        moved |= work.moved;
        if work.unread > 0 {
            moved |= unless_full(self.make_jobs(work.unread).await)?;
        }
        for key in work.stops {
            // Further stops come again in a later round.
            if self.stopping.len() < MAX_MESSAGES_IN_FLIGHT {
                let delivery = Arc::clone(&self.delivery);
                self.stopping.spawn(async move { (key, delivery.tell_stop(key).await) });
            }
        }
        for key in work.in_hand.into_iter().rev() {
            if self.in_flight.insert(key) {
                let (delivery, last) = (Arc::clone(&self.delivery), self.failed.get(&key).map(|rest| rest.why.clone()));
                self.deliveries.spawn(async move { (key, delivery.deliver(key, last).await) });
            }
        }
        Ok(if moved {
            BUSY_PAUSE
        } else if !(self.deliveries.is_empty() && self.stopping.is_empty()) || work.unanswered > 0 {
            AWAITING_PAUSE
        } else if !self.runners.is_empty() {
            self.next_look.duration_since(Instant::now()).max(WITH_RUNNERS_PAUSE)
        } else {
            IDLE_PAUSE
        })
    }
}

/// Skips new work while the memory of Redis is full. Work in progress continues.
fn unless_full<T: Default>(done: Result<T, Error>) -> Result<T, Error> {
    match done {
        Err(error) if error.out_of_memory() => Ok(T::default()),
        done => done,
    }
}

impl Service for Outgoing {
    type Error = Error;
    const NAME: &'static str = "sending messages";

    async fn tick(&mut self) -> Result<Duration, Error> {
        // Events often come in groups, so the first pauses are short. Storing a message or a job here ends the pause.
        let arrives = async {
            sleep(MIN_ROUND_PAUSE.max(self.took * ROUND_PAUSE_FACTOR)).await;
            match self.arrivals.values().map(|arrival| Box::pin(arrival.notified())).collect::<Vec<_>>() {
                none if none.is_empty() => std::future::pending().await,
                any => drop(select_all(any).await),
            }
        };
        let stored = async {
            tokio::select! {
                () = self.wake.notified() => {}
                () = arrives => {}
            }
        };
        let _ = timeout(until_pulse(self.pause), stored).await;
        let began = Instant::now();
        let longest = self.round().await?;
        self.took = began.elapsed();
        self.pause = if longest == BUSY_PAUSE { BUSY_PAUSE } else { (self.pause * 2).min(longest) };
        Ok(Duration::ZERO)
    }
}
