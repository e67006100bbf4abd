//! Messages between contexts and nodes: stored messages, message loops, buses, and remote runners.
#![expect(clippy::unwrap_used, reason = "a test that can't go on shall say so")]

mod asleep;
mod bus;
mod clock_step;
mod delivery;
mod flows;
mod kills;
mod known;
mod limits;
mod mycelium;
mod numbers;
mod objects;
mod ping;
mod relations;
mod remote;
mod room;
mod silence;
mod spoilt;
mod states;
mod stops;
mod trust;
mod unsent;

use std::collections::BTreeMap;
use std::time::Duration;

use hero::access::Authority;
use hero::coordinator::bus::Mycelium;
use hero::coordinator::{MessageLoopSettings, MessageLoops, Messages, NodeKey, Runners, Wakes};
use hero::model::{ContextId, Draft, Message, MessageFormat, MessageKey, MessageStatus, MessageType, RunnerChange, RunnerId};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::{CONTEXT, House, Redis, until};

/// A house with its message loops.
struct Town {
    house: House,
    key: NodeKey,
    messages: Messages,
    runners: Runners,
    /// The access rules, if its callers log in.
    authority: Option<Authority>,
    _message_loops: DropGuard,
}

/// The settings of a town.
struct Plan {
    actors: u32,
    /// The towns whose messages it takes.
    trusts: Vec<NodeKey>,
    mycelium: Option<Mycelium>,
    login: Option<fn(&House) -> Authority>,
    ack: Duration,
    result: Duration,
    /// The time after which an unused connection is closed.
    kept: Duration,
}

impl Plan {
    fn new(actors: u32) -> Self {
        let (ack, result) = (Duration::from_secs(60), Duration::from_secs(60));
        Self { actors, trusts: Vec::new(), mycelium: None, login: None, ack, result, kept: hero::coordinator::IDLE_CONNECTION_TIMEOUT }
    }

    fn trusting(self, key: &NodeKey) -> Self {
        Self { trusts: vec![key.clone()], ..self }
    }
}

impl Town {
    async fn open(key: &NodeKey, plan: Plan) -> Self {
        let house = if plan.actors > 0 { House::open(plan.actors).await } else { House::empty().await };
        Self::over(house, key, plan)
    }

    fn over(house: House, key: &NodeKey, plan: Plan) -> Self {
        let (wakes, shutdown) = (Wakes::default(), CancellationToken::new());
        let node = |(at, key): (usize, NodeKey)| hero::coordinator::Node {
            name: format!("node{at}").parse().unwrap(),
            key: Some(key.public()),
            redis: None,
        };
        let authority = plan.login.map(|login| login(&house));
        let settings = MessageLoopSettings {
            key: key.clone(),
            nodes: plan.trusts.into_iter().enumerate().map(node).collect(),
            mycelium: plan.mycelium,
            authority: authority.clone(),
            ack: plan.ack,
            result: plan.result,
            kept: plan.kept,
        };
        let message_loops = MessageLoops::start(house.dispatcher.clone(), settings, wakes.clone(), shutdown.clone());
        for context in house.dispatcher.contexts().ids() {
            message_loops.serve(context, &shutdown);
        }
        let messages = Messages::new(house.dispatcher.clone(), wakes).with_pinger(message_loops.pinger());
        let runners = Runners::new(house.dispatcher.clone());
        Self { house, key: key.clone(), messages, runners, authority, _message_loops: shutdown.drop_guard() }
    }

    fn redis(&self) -> &Redis {
        &self.house.redis
    }

    async fn hash(&self, key: &str) -> BTreeMap<String, String> {
        self.redis().run(&["HGETALL", key]).await
    }

    async fn send(&self, draft: Draft) -> MessageKey {
        let sent = self.messages.send(CONTEXT, draft).await.unwrap();
        MessageKey { caller_id: sent.caller_id, message_id: sent.message_id }
    }

    /// The message, once it has this status.
    async fn becomes(&self, key: MessageKey, status: MessageStatus) -> Message {
        until(&format!("{key} is {status}"), || async {
            let message = self.messages.get(CONTEXT, key).await.unwrap();
            assert!(message.status == status || message.status != MessageStatus::Error, "{message:?}");
            (message.status == status).then_some(message)
        })
        .await
    }

    /// Why a message did not arrive, once that is known.
    async fn fails(&self, key: MessageKey) -> String {
        let failed = until(&format!("{key} is in error"), || async {
            let message = self.messages.get(CONTEXT, key).await.unwrap();
            (message.status == MessageStatus::Error).then_some(message)
        })
        .await;
        failed.error.unwrap()
    }

    /// The hands of the servers that send messages here.
    async fn hands(&self) -> Vec<String> {
        self.redis().run(&["ZRANGE", "hero:meta:nodes", "0", "-1"]).await
    }

    /// The envelopes that its hands are sending.
    async fn in_hand(&self) -> Vec<String> {
        let mut found = Vec::new();
        for hand in self.hands().await {
            found.extend(self.redis().run::<Vec<String>>(&["LRANGE", &format!("msg_out:sending:{hand}"), "0", "-1"]).await);
        }
        found
    }

    /// The content of `msg_in`, once it has this number of entries.
    async fn came(&self, many: usize) -> Vec<String> {
        until("messages that came", || async {
            let list: Vec<String> = self.redis().run(&["LRANGE", "msg_in", "0", "-1"]).await;
            (list.len() >= many).then_some(list)
        })
        .await
    }

    /// A runner whose jobs run in another town, which is reached by its Redis.
    async fn runner_in(&self, other: &Self) -> RunnerId {
        self.runner_at(&other.redis().url(), &other.key).await
    }

    async fn runner_at(&self, address: &str, key: &NodeKey) -> RunnerId {
        let change = RunnerChange { pubkey: Some(key.public()), ..elsewhere(address, CONTEXT) };
        self.runners.create(CONTEXT, &change).await.unwrap().runner_id
    }
}

/// A runner whose jobs run in a context that is reached by an address.
fn elsewhere(address: &str, target: ContextId) -> RunnerChange {
    RunnerChange {
        script_type: Some("osis".parse().unwrap()),
        local: Some(false),
        address: Some(address.parse().unwrap()),
        target_context: Some(target),
        ..RunnerChange::default()
    }
}

/// A line from identity 12 to another town.
fn chat(message: &str, to: &str) -> Draft {
    Draft {
        caller_id: 12,
        message: message.into(),
        message_type: MessageType::Chat,
        message_format_type: MessageFormat::Md,
        timeout_ack: 60,
        timeout_result: 60,
        job: Vec::new(),
        target_context: ContextId(0),
        topic: None,
        address: Some(to.parse().unwrap()),
    }
}

/// Jobs from identity 12 for another town.
fn jobs(scripts: &[&str], to: &str) -> Draft {
    let job = |(at, script): (usize, &&str)| serde_json::json!({ "id": 2001 + at, "script": script, "script_type": "osis" }).into();
    Draft { message_type: MessageType::Job, job: scripts.iter().enumerate().map(job).collect(), ..chat("", to) }
}
