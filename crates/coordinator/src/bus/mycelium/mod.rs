//! The bus of a Mycelium node: it carries envelopes through its overlay network, encrypted, to the node with an address
//! or a key.
//!
//! [`node`] is its API, [`pace`] the interval at which it is asked for messages, and [`sent`] the envelopes without a
//! reply.

mod node;
mod pace;
mod sent;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::node::{MyceliumNode, NodeMessage, Of, Pushed, State};
use self::pace::Pace;
use self::sent::Sent;
use super::{Bus, BusError, MAX_ENVELOPE_BYTES, ReceivedEnvelope, bounded, pass_over, timed, written};
use crate::envelope::Envelope;
use crate::receipt::{NoReceipt, Receipt};
use hero_model::SignerKey;

pub use self::node::Api;

/// Time that the node waits for a reply when it gets an envelope. It returns the envelope's id only after that. Later
/// replies are fetched.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
/// The interval at which the node is asked for the state of an envelope.
const STATE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of envelopes that are fetched at once, and their approximate total size in bytes.
const MAX_ENVELOPES_PER_FETCH: usize = 16;
const MAX_BYTES_PER_FETCH: usize = 2 * MAX_ENVELOPE_BYTES;
/// Maximum number of envelopes that are pushed at once: the node has a hundred connections by JSON-RPC.
const MAX_CONCURRENT_PUSHES: usize = 64;

/// The bus of a Mycelium node.
pub struct Mycelium {
    node: MyceliumNode,
    pace: Pace,
    sent: Sent,
    given: Semaphore,
    /// Whether it was logged that a message of another program is in the way.
    is_blocked: AtomicBool,
}

impl Mycelium {
    /// Creates a bus for the node at a URL. Envelopes have a topic, so that other programs can use the node, too.
    pub fn new(url: &str, api: Api, topic: &str) -> Result<Self, String> {
        let (node, now) = (MyceliumNode::new(url, api, topic)?, Instant::now());
        let (pace, sent, given, is_blocked) =
            (Pace::new(now), Sent::new(now), Semaphore::new(MAX_CONCURRENT_PUSHES), AtomicBool::new(false));
        Ok(Self { node, pace, sent, given, is_blocked })
    }

    /// Returns the URL of the node.
    pub fn url(&self) -> &str {
        &self.node.url
    }

    /// Gives an envelope to the node, unless the node already has it, and returns the reply.
    async fn bring(&self, to: &str, nonce: &str, text: &str, until: Instant) -> Result<NodeMessage, BusError> {
        // An envelope that is too large is refused before it is sent.
        let message = self.node.message(to, text)?;
        let given = match self.sent.get(nonce, Instant::now()) {
            Some((id, true)) => Some(id),
            Some((id, false)) => self.node.state(&id).await?.is_under_way().then_some(id),
            None => None,
        };
        let id = match given {
            Some(id) => id,
            None => {
                let patience = until.saturating_duration_since(Instant::now());
                let pushed = {
                    let _one = self.given.acquire().await;
                    self.node.push(&message, text.len(), REPLY_TIMEOUT.min(patience)).await?
                };
                match pushed {
                    Pushed::Reply(reply) => {
                        self.sent.forget(nonce);
                        return Ok(reply);
                    }
                    Pushed::Id(id) => {
                        self.sent.add(nonce, &id, Instant::now());
                        id
                    }
                }
            }
        };
        self.follow(to, nonce, &id, until).await
    }

    /// Waits for a late reply as long as one may come. Otherwise returns the reason for the delay.
    async fn follow(&self, to: &str, nonce: &str, id: &str, until: Instant) -> Result<NodeMessage, BusError> {
        let _waiting = self.sent.wait();
        let (mut before, began) = (None, Instant::now());
        loop {
            // A reply that has already come needs no call.
            if let Some(reply) = self.sent.reply(nonce, before.map_or(began, |_| (Instant::now() + STATE_POLL_INTERVAL).min(until))).await {
                return Ok(reply);
            }
            let state = self.node.state(id).await?;
            if state == State::Pending && before.is_none() && self.node.is_own(to).await? {
                self.sent.forget(nonce);
                return Err(BusError::Unknown(format!(
                    "{to} is this server's own Mycelium node, which does not deliver to itself: use the address here"
                )));
            }
            let is_lost = match state {
                State::Aborted | State::Gone => true,
                // A node that has read it replies at once, or has ended meanwhile.
                State::Read => before == Some(State::Read),
                State::Pending | State::Sending | State::Received => false,
            };
            if is_lost {
                self.sent.forget(nonce);
            }
            if is_lost || Instant::now() >= until {
                return Err(state.told(to));
            }
            before = Some(state);
        }
    }

    /// Fetches envelopes, up to the maximum of one round.
    async fn envelopes(&self) -> Result<Vec<ReceivedEnvelope>, BusError> {
        let (mut all, mut bytes) = (Vec::new(), 0);
        while all.len() < MAX_ENVELOPES_PER_FETCH && bytes < MAX_BYTES_PER_FETCH {
            let message = match self.node.take(Of::Topic, false).await {
                Ok(Some(message)) => message,
                Ok(None) => break,
                // What was fetched is there no more.
                Err(_) if !all.is_empty() => break,
                Err(error) => return Err(error),
            };
            let one = received(message);
            bytes += one.envelope.as_ref().map_or(0, String::len);
            all.push(one);
        }
        Ok(all)
    }

    /// Fetches late replies. Messages of other programs, which have no topic either, stay. Replies behind such a
    /// message are fetched when it is gone.
    async fn late_replies(&self) -> Result<Vec<ReceivedEnvelope>, BusError> {
        for _ in 0..MAX_ENVELOPES_PER_FETCH {
            let Some(first) = self.node.take(Of::NoTopic, true).await? else {
                self.is_blocked.store(false, Ordering::Relaxed);
                break;
            };
            if self.node.of(&first) != Some(Of::NoTopic) || nonce_of(&first).is_none() {
                if !self.is_blocked.swap(true, Ordering::Relaxed) {
                    tracing::warn!(url = %self.node.url, from = %first.src_pk, "the oldest message without a topic at the Mycelium node belongs to another program: late receipts behind it cannot be fetched until that program has fetched it");
                }
                break;
            }
            let Some(reply) = self.node.take(Of::NoTopic, false).await? else { break };
            match (self.node.of(&reply), nonce_of(&reply)) {
                (Some(Of::Topic), _) => return Ok(vec![received(reply)]),
                (_, Some(nonce)) => {
                    let is_known = self.sent.take(&nonce, reply);
                    tracing::debug!(%nonce, is_known, "a receipt came late");
                }
                _ => {
                    tracing::warn!(url = %self.node.url, from = %reply.src_pk, "took a message of another program from the Mycelium node, because the node had changed its order")
                }
            }
        }
        Ok(Vec::new())
    }
}

fn received(message: NodeMessage) -> ReceivedEnvelope {
    let envelope = bounded(message.text().unwrap_or_default());
    ReceivedEnvelope { id: message.id, from: Some(message.src_pk), envelope }
}

/// Returns the nonce of the envelope that a reply is for, if it is a reply of hero.
fn nonce_of(reply: &NodeMessage) -> Option<String> {
    let receipt: Receipt = serde_json::from_str(&reply.text()?).ok()?;
    Some(receipt.nonce.as_str().to_owned())
}

impl State {
    /// True if the node is still delivering it.
    const fn is_under_way(self) -> bool {
        matches!(self, Self::Pending | Self::Sending | Self::Received)
    }

    /// Returns the error for a message in this state whose reply did not come.
    fn told(self, to: &str) -> BusError {
        BusError::Unreachable(match self {
            Self::Pending => {
                format!("the Mycelium network has not found {to} yet: the node does not exist, is off, or is unreachable")
            }
            Self::Sending => format!("the Mycelium node {to} has received only a part of the message; the connection is slow"),
            Self::Received => format!(
                "the Mycelium node {to} has the message, and nobody there has fetched it: no server of hero uses that node, or it has another mycelium_topic"
            ),
            Self::Aborted => format!("the Mycelium node gave up reaching {to}"),
            Self::Gone => format!("the Mycelium node no longer knows the state of the message to {to}"),
            Self::Read => return BusError::Silent,
        })
    }
}

impl Bus for Mycelium {
    fn deliver<'a>(
        &'a self,
        to: &'a str,
        envelope: &'a Envelope,
        receiver: Option<&'a SignerKey>,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Receipt, BusError>> {
        Box::pin(timed("mycelium", async move {
            let (text, until) = (written(envelope)?, Instant::now() + patience);
            self.pace.traffic();
            let reply = self.bring(to, envelope.nonce.as_str(), &text, until).await?;
            self.pace.traffic();
            let receipt = if reply.is_from(to) {
                Receipt::read(&reply.text().unwrap_or_default(), envelope, receiver)
            } else {
                Err(NoReceipt::Elsewhere(reply.src_pk))
            };
            receipt.map_err(|why| {
                if why != NoReceipt::Earlier {
                    pass_over(envelope, &why);
                }
                BusError::Silent
            })
        }))
    }

    fn receive(&self, wait: Duration) -> BoxFuture<'_, Result<Vec<ReceivedEnvelope>, BusError>> {
        Box::pin(async move {
            let until = Instant::now() + wait;
            while self.pace.next(until).await {
                let mut received = if self.sent.look(Instant::now()) { self.late_replies().await? } else { Vec::new() };
                if received.is_empty() {
                    received = self.envelopes().await?;
                }
                if !received.is_empty() {
                    self.pace.traffic();
                    return Ok(received);
                }
            }
            Ok(Vec::new())
        })
    }

    fn answer<'a>(&'a self, received: &'a ReceivedEnvelope, receipt: &'a Receipt) -> BoxFuture<'a, Result<(), BusError>> {
        Box::pin(async move {
            let text = serde_json::to_string(receipt).expect("a receipt is texts and numbers");
            self.node.reply(&received.id, received.from.as_deref().unwrap_or_default(), &text).await
        })
    }
}
