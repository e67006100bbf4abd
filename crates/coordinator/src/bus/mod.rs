//! Buses: how envelopes come from one node to another.

mod boxes;
mod mycelium;

use std::future::Future;
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;

use super::envelope::Envelope;
use super::receipt::{NoReceipt, Receipt};
use hero_model::SignerKey;

pub use self::boxes::Boxes;
pub use self::mycelium::{Api, Mycelium};

/// The most bytes that an envelope has on any bus.
pub const LONGEST: usize = 4 << 20;

/// Why an envelope was not handed over, or what came was not fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The bus, or the node behind it, cannot be reached now. It may have been handed over all the same.
    #[error("{0}")]
    Unreachable(String),
    /// It was handed over, and nobody has said yet what became of it.
    #[error("it was handed over, and the other side has not said that it stored it")]
    Silent,
    /// There is no such destination on this bus.
    #[error("{0}")]
    Unknown(String),
    /// The envelope is larger than any may be.
    #[error("the message has {size} bytes on its way, the limit is {limit}")]
    TooLarge {
        /// How large it is.
        size: usize,
        /// How large it may be on this bus.
        limit: usize,
    },
}

impl BusError {
    /// Whether sending it again would be in vain.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::TooLarge { .. })
    }
}

/// What came for this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received {
    /// By which the bus knows it.
    pub id: String,
    /// Where an answer goes to, as an address; nothing, if that is up to the envelope.
    pub from: Option<String>,
    /// The envelope, as it came, unless it is larger than any may be.
    pub envelope: Result<String, BusError>,
}

/// Carries envelopes. An envelope may come more than once: whoever receives knows it by its nonce.
pub trait Bus: Send + Sync {
    /// Hands an envelope over, and gives what the other side says of it. `to` is a node as this bus knows it, and `receiver` the key of the node of hero
    /// there, if that is known: what others say to be from it is passed over. Takes `patience` at most, about.
    fn deliver<'a>(
        &'a self,
        to: &'a str,
        envelope: &'a Envelope,
        receiver: Option<&'a SignerKey>,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Receipt, BusError>>;

    /// Gives what has come, the oldest first. Waits for so long at most where nothing has.
    fn receive(&self, wait: Duration) -> BoxFuture<'_, Result<Vec<Received>, BusError>>;

    /// Tells the sender what became of an envelope.
    fn answer<'a>(&'a self, received: &'a Received, receipt: &'a Receipt) -> BoxFuture<'a, Result<(), BusError>>;
}

/// Measures how long it takes until the receipt for an envelope is here, and counts those for which none came.
async fn timed(bus: &'static str, delivering: impl Future<Output = Result<Receipt, BusError>>) -> Result<Receipt, BusError> {
    let began = Instant::now();
    let delivered = delivering.await;
    match &delivered {
        Ok(_) => metrics::histogram!("hero_message_delivery_seconds", "bus" => bus).record(began.elapsed().as_secs_f64()),
        Err(_) => metrics::counter!("hero_messages_unanswered_total", "bus" => bus).increment(1),
    }
    delivered
}

/// An envelope as it travels.
fn written(envelope: &Envelope) -> Result<String, BusError> {
    bounded(serde_json::to_string(envelope).expect("an envelope is texts and numbers"))
}

/// The text of an envelope, if it is no larger than any may be.
fn bounded(text: String) -> Result<String, BusError> {
    if text.len() > LONGEST { Err(BusError::TooLarge { size: text.len(), limit: LONGEST }) } else { Ok(text) }
}

/// Tells the log of what came as the receipt for an envelope and is none that counts.
fn pass_over(envelope: &Envelope, why: &NoReceipt) {
    tracing::warn!(nonce = %envelope.nonce, "what came as the receipt for a message was passed over, and the message is sent on: {why}");
}
