//! Pings: they find out which node is at an address, over which bus, and its clock. They are not stored.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::bus::BusError;
use super::envelope::{Envelope, Kind};
use super::inbound::Inbound;
use super::receipt::{Receipt, ReceiptStatus};
use super::routes::{Route, Routes};
use super::signature::{NodeKey, is_right};
use hero_model::{Address, AddressTarget, ContextId, Name, Pong, PongAnswer, Timestamp};
use hero_store::Store;

/// Timeout for an answer, and for the whole ping.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// Lifetime of a ping, in seconds.
const LIFETIME_SECONDS: u32 = 60;

/// The answer of a node to a ping, as the text of its receipt.
#[derive(Debug, Serialize, Deserialize)]
struct PingReply {
    /// The time of its clock, in milliseconds since 1970.
    time: i64,
    /// Whether it trusts the node that asks.
    trusts: bool,
}

/// Maximum number of pings at the same time: each waits for an answer that may never come.
const MAX_CONCURRENT_PINGS: usize = 64;

/// The route that a ping took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PingRoute {
    Here,
    Bus,
}

/// Asks who is at an address. Cheap to clone.
#[derive(Clone)]
pub struct Pinger {
    key: NodeKey,
    at_once: Arc<Semaphore>,
    routes: Arc<Routes>,
    inbound: Arc<Inbound>,
}

impl Pinger {
    pub(super) fn new(key: NodeKey, routes: Arc<Routes>, inbound: Arc<Inbound>) -> Self {
        Self { key, at_once: Arc::new(Semaphore::new(MAX_CONCURRENT_PINGS)), routes, inbound }
    }

    /// Asks who is at an address.
    pub(super) async fn ask(&self, store: &Store, address: &Address, target: ContextId) -> Result<PongAnswer, String> {
        let asking = async {
            let way = self.routes.find(store, address, target).await.map_err(|error| error.to_string())?;
            let envelope = self.envelope(store.context(), target)?;
            let (began, sent) = (Instant::now(), Timestamp::local());
            let receipt = match &way {
                Route::Here => self.inbound.take_here(&envelope).await,
                // Any node at the address may answer, so the ping names no receiver.
                Route::Bus(bus, to) => bus.deliver(to, &envelope, None, ANSWER_TIMEOUT).await.map_err(|error| no_answer(&error))?,
            };
            let way = if matches!(way, Route::Here) { PingRoute::Here } else { PingRoute::Bus };
            Ok::<_, String>((way, receipt, began.elapsed(), sent))
        };
        let slow = || format!("nobody has answered within {} s", PING_TIMEOUT.as_secs());
        let Ok(_permit) = self.at_once.try_acquire() else {
            return Err(format!("{MAX_CONCURRENT_PINGS} pings are under way here; try again when they are over"));
        };
        let (way, receipt, took, sent) = timeout(PING_TIMEOUT, asking).await.map_err(|_| slow())??;
        if way == PingRoute::Bus && receipt.node == self.key.public() {
            return Err("it leads back to this node; contexts of this server have the address here".into());
        }
        let said: PingReply = match serde_json::from_str(&receipt.text) {
            Ok(said) if receipt.outcome == ReceiptStatus::Stored => said,
            _ => {
                return Err(format!(
                    "the node {} answered something else; an older hero does not know pings: {}",
                    receipt.node, receipt.text
                ));
            }
        };
        // Assumes that the answer was written half-way.
        let half = i64::try_from(took.as_millis() / 2).unwrap_or(i64::MAX);
        #[expect(clippy::cast_precision_loss, reason = "a difference of clocks is no exact number")]
        let clock_ahead = said.time.saturating_sub(sent.as_millis().saturating_add(half)) as f64 / 1000.0;
        let known = self.routes.nodes.iter().find(|node| node.key.as_ref() == Some(&receipt.node));
        Ok(PongAnswer {
            name: known.map(|node| node.name.clone()),
            expected: self.routes.key_of(address).filter(|expected| *expected != receipt.node),
            is_trusted: known.is_some() || receipt.node == self.key.public(),
            key: receipt.node,
            trusts: said.trusts,
            time: Timestamp::from_millis(said.time),
            clock_ahead,
            round_trip: took.into(),
        })
    }

    /// Builds a ping from a context to another one. Its nonce is unique, so that each ping is answered.
    fn envelope(&self, context: ContextId, target: ContextId) -> Result<Envelope, String> {
        let nonce: Name = format!("{:032x}", rand::random::<u128>()).parse().map_err(|_| "it has no nonce".to_owned())?;
        let mut envelope = Envelope {
            timeout: LIFETIME_SECONDS,
            timeout_ack: LIFETIME_SECONDS,
            ..Envelope::new(Kind::Ping, nonce, context, target, self.key.public())
        };
        self.key.sign(&mut envelope);
        Ok(envelope)
    }
}

fn no_answer(error: &BusError) -> String {
    match error {
        BusError::Silent => "it was sent, but no hero node answered".to_owned(),
        error => error.to_string(),
    }
}

/// Describes the route to an address in words.
fn route(address: &Address, target: ContextId) -> String {
    match address.target() {
        AddressTarget::Here => format!("context {target} of this server"),
        AddressTarget::Box(key) => format!("the envelopes for {key} in the Redis of this server"),
        AddressTarget::Redis(_) => format!("context {target} of that Redis"),
        AddressTarget::Node(name) => format!("context {target} of the Redis of node {name} (node_redis)"),
        AddressTarget::MyceliumIp(ip) => format!("the Mycelium node of this server (mycelium_url), and the one at {ip}"),
        AddressTarget::MyceliumKey(key) => format!("the Mycelium node of this server (mycelium_url), and the one with the key {key}"),
    }
}

/// Returns the result of a ping. A missing answer is not an error.
pub(super) fn came(address: &Address, target: ContextId, answered: Result<PongAnswer, String>) -> Pong {
    let (answer, error) = match answered {
        Ok(answer) => (Some(answer), None),
        Err(why) => (None, Some(why)),
    };
    Pong { route: route(address, target), answer, error }
}

impl Inbound {
    /// Answers a ping of any sender: the answer reveals no more than a refusal does.
    pub(super) fn pong(&self, envelope: &Envelope) -> Receipt {
        if !is_right(envelope) {
            let why = format!("the signature is not that of {} over this message", envelope.public_key);
            return Receipt::of_no_envelope(envelope.nonce.clone(), why, &self.key);
        }
        let key = &envelope.public_key;
        let trusts = *key == self.key.public() || self.trusted.contains_key(key);
        let said = PingReply { time: Timestamp::local().as_millis(), trusts };
        let text = serde_json::to_string(&said).expect("a time and a truth");
        Receipt::new(envelope, ReceiptStatus::Stored, text, &self.key)
    }
}
