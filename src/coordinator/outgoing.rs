//! The supervisor daemon of one context: brings its messages to their nodes, and its jobs to runners elsewhere.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::delivery::{Delivered, Delivery};
use super::{recording, runner_job};
use crate::model::{MessageKey, MessageList, MessageType, Runner};
use crate::service::Service;
use crate::store::{Error, Settled};

/// How many messages a node has in hand at most, in each context.
const IN_HAND: usize = 128;
/// How many jobs of a runner are sent by one call.
const JOBS: usize = 32;
/// How long to pause while something happens, while something is awaited, while there are runners elsewhere, and else.
const BUSY: Duration = Duration::from_millis(5);
const AWAITING: Duration = Duration::from_millis(50);
const WITH_RUNNERS: Duration = Duration::from_millis(250);
const IDLE: Duration = Duration::from_secs(1);
/// How often it is looked whether runners have changed.
const LOOK: Duration = Duration::from_secs(1);
/// How many runners are read at once, and how many messages that came.
const PAGE: usize = 1000;
const LOOKED_AT: usize = 64;
/// How long a message rests that did not arrive, at first and at most.
const FIRST_REST: Duration = Duration::from_millis(250);
const LONGEST_REST: Duration = Duration::from_secs(30);

/// When a message that did not arrive is sent again, and what was said last.
struct Rest {
    until: Instant,
    length: Duration,
    why: String,
}

/// Sends the messages of one context.
pub(super) struct Outgoing {
    delivery: Arc<Delivery>,
    node: String,
    wake: Arc<Notify>,
    pause: Duration,
    /// The runners that are elsewhere, as they were at `revision`.
    runners: Vec<Runner>,
    revision: Option<u64>,
    looked: Option<Instant>,
    flying: JoinSet<(MessageKey, Delivered)>,
    in_flight: HashSet<MessageKey>,
    resting: HashMap<MessageKey, Rest>,
    /// Messages in `msg_in` that are for their owner.
    for_owners: HashSet<MessageKey>,
    from: usize,
    has_awaited: bool,
}

impl Outgoing {
    pub(super) fn new(delivery: Arc<Delivery>, wake: Arc<Notify>) -> Self {
        let node = delivery.key.name();
        let (runners, in_flight, resting, for_owners) = Default::default();
        Self {
            delivery,
            node,
            wake,
            pause: BUSY,
            runners,
            revision: None,
            looked: None,
            flying: JoinSet::new(),
            in_flight,
            resting,
            for_owners,
            from: 0,
            has_awaited: false,
        }
    }

    /// Reads the runners anew if one has changed, and opens the way back from where results are awaited.
    async fn look_for_runners(&mut self) -> Result<(), Error> {
        if self.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        let store = &self.delivery.store;
        let revision = store.runner_revision().await?;
        if self.revision == Some(revision) && self.has_awaited {
            return Ok(());
        }
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let page = store.runners(after, PAGE).await?;
            let (read, last) = (page.len(), page.last().map_or(0, |last| last.runner_id.0));
            found.extend(page.into_iter().filter(|runner| !runner.local));
            if read < PAGE {
                break;
            }
            after = last;
        }
        for runner in &found {
            if let Some(address) = &runner.address {
                // What cannot be reached now is tried again with the first message.
                let _ = self.delivery.routes.find(store, address, runner.target_context).await;
            }
        }
        for (address, context) in store.awaited_places(PAGE).await? {
            let _ = self.delivery.routes.find(store, &address, context).await;
        }
        (self.runners, self.revision, self.has_awaited) = (found, Some(revision), true);
        Ok(())
    }

    /// Makes the jobs of messages that another program put into `msg_in`. The others stay for their owners.
    async fn make_jobs(&mut self, unread: u64) -> Result<bool, Error> {
        let store = &self.delivery.store;
        if usize::try_from(unread).unwrap_or(usize::MAX) <= self.from {
            self.from = 0;
        }
        let names = store.listed_messages(MessageList::In, self.from, LOOKED_AT).await?;
        self.from += names.len();
        let new: Vec<MessageKey> = names.into_iter().filter(|name| !self.for_owners.contains(name)).collect();
        let mut made = false;
        for (name, stored) in new.iter().zip(store.messages(&new).await?) {
            if let Some(stored) = stored.filter(|stored| stored.shown.message_type == MessageType::Job) {
                // What cannot be recorded is left for later.
                let Ok(mut doing) = self.delivery.dispatcher.audit().begin(|| recording::of_other_program(*name, store.context())) else {
                    break;
                };
                let jobs = runner_job::read(&stored.job, name.caller_id, name.message_id);
                match store.make_runner_jobs(*name, &jobs).await? {
                    Some(jobs) => {
                        doing.end(|record| recording::made(record, &jobs));
                        made = true;
                    }
                    None => doing.give_up(),
                }
                continue;
            }
            if self.for_owners.len() >= PAGE * 10 {
                self.for_owners.clear();
            }
            self.for_owners.insert(*name);
        }
        Ok(made)
    }

    /// Records what became of messages that were on their way. Gives whether there were any.
    async fn land(&mut self) -> Result<bool, Error> {
        let mut landed = false;
        while let Some(done) = self.flying.try_join_next() {
            landed = true;
            // What panicked is tried again, as after a death of this process.
            let Ok((key, delivered)) = done else {
                self.in_flight.clear();
                continue;
            };
            self.in_flight.remove(&key);
            match delivered {
                Delivered::Settled(settled) => {
                    self.resting.remove(&key);
                    if let Settled::Failed(_, why) = &settled {
                        tracing::warn!(message = %key, context = %self.delivery.store.context(), "a message was not delivered: {why}");
                    }
                    self.delivery.store.settle_message(&self.node, key, &settled).await?;
                }
                Delivered::Later(why) => {
                    let before = self.resting.get(&key).map_or(FIRST_REST / 2, |rest| rest.length);
                    let length = (before * 2).min(LONGEST_REST);
                    self.resting.insert(key, Rest { until: Instant::now() + length, length, why });
                }
            }
        }
        Ok(landed)
    }

    async fn round(&mut self) -> Result<Duration, Error> {
        let mut moved = self.land().await?;
        self.look_for_runners().await?;
        let Delivery { store, ack, result, .. } = &*self.delivery;
        for runner in &self.runners {
            moved |= store.send_jobs(runner, JOBS, *ack, *result).await? > 0;
        }
        let tended = store.tend_messages(&self.node, IN_HAND).await?;
        moved |= tended.moved;
        if tended.unread > 0 {
            moved |= self.make_jobs(tended.unread).await?;
        }
        let hand: HashSet<MessageKey> = tended.in_hand.iter().copied().collect();
        self.resting.retain(|key, _| hand.contains(key));
        for key in tended.in_hand.into_iter().rev() {
            let rest = self.resting.get(&key);
            if self.in_flight.contains(&key) || rest.is_some_and(|rest| rest.until > Instant::now()) {
                continue;
            }
            let (delivery, last) = (Arc::clone(&self.delivery), rest.map(|rest| rest.why.clone()));
            self.in_flight.insert(key);
            self.flying.spawn(async move { (key, delivery.deliver(key, last).await) });
        }
        Ok(if moved {
            BUSY
        } else if !self.flying.is_empty() || tended.unanswered > 0 {
            AWAITING
        } else if !self.runners.is_empty() {
            WITH_RUNNERS
        } else {
            IDLE
        })
    }
}

impl Service for Outgoing {
    type Error = Error;
    const NAME: &'static str = "messages";

    async fn tick(&mut self) -> Result<Duration, Error> {
        // Something happens seldom alone, so it is waited little at first. Whoever stores a message here says so.
        let _ = timeout(self.pause, self.wake.notified()).await;
        let longest = self.round().await?;
        self.pause = if longest == BUSY { BUSY } else { (self.pause * 2).min(longest) };
        Ok(Duration::ZERO)
    }
}
