//! Buses, which carry envelopes from one node to another.

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

/// Maximum size of an envelope on any bus, in bytes.
pub const MAX_ENVELOPE_BYTES: usize = 4 << 20;

/// The reason why an envelope was not delivered, or why none could be fetched.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BusError {
    /// The bus, or the node behind it, cannot be reached now. The envelope may have been delivered nevertheless.
    #[error("{0}")]
    Unreachable(String),
    /// The envelope was handed over, and no receipt has come yet.
    #[error("it was sent, but the other side has not acknowledged it")]
    Silent,
    /// The destination does not exist on this bus.
    #[error("{0}")]
    Unknown(String),
    /// The envelope exceeds the maximum size.
    #[error("the message has {size} bytes on its way, the limit is {limit}")]
    TooLarge {
        /// Its size.
        size: usize,
        /// The maximum size on this bus.
        limit: usize,
    },
}

impl BusError {
    /// True if sending it again cannot succeed.
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Unknown(_) | Self::TooLarge { .. })
    }
}

/// An envelope that came for this node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedEnvelope {
    /// Its id on the bus.
    pub id: String,
    /// The address for the answer. If it is `None`, the envelope decides.
    pub from: Option<String>,
    /// The envelope, as it came, or an error if it is too large.
    pub envelope: Result<String, BusError>,
}

/// Carries envelopes. An envelope may come more than once; the receiver recognises it by its nonce.
pub trait Bus: Send + Sync {
    /// Delivers an envelope, and returns the receipt of the other side. `to` is a node as this bus identifies it.
    /// `receiver` is the key of the node of hero there, if it is known: receipts of other nodes are ignored. Takes
    /// about `patience` at most.
    fn deliver<'a>(
        &'a self,
        to: &'a str,
        envelope: &'a Envelope,
        receiver: Option<&'a SignerKey>,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Receipt, BusError>>;

    /// Returns the envelopes that have come, the oldest first. If there are none, waits for at most `wait`.
    fn receive(&self, wait: Duration) -> BoxFuture<'_, Result<Vec<ReceivedEnvelope>, BusError>>;

    /// Sends the receipt for an envelope to its sender.
    fn answer<'a>(&'a self, received: &'a ReceivedEnvelope, receipt: &'a Receipt) -> BoxFuture<'a, Result<(), BusError>>;
}

/// Measures the time until the receipt for an envelope arrives, and counts envelopes without a receipt.
async fn timed(bus: &'static str, delivering: impl Future<Output = Result<Receipt, BusError>>) -> Result<Receipt, BusError> {
    let began = Instant::now();
    let delivered = delivering.await;
    match &delivered {
        Ok(_) => metrics::histogram!("hero_message_delivery_seconds", "bus" => bus).record(began.elapsed().as_secs_f64()),
        Err(_) => metrics::counter!("hero_messages_unanswered_total", "bus" => bus).increment(1),
    }
    delivered
}

/// Serializes an envelope.
fn written(envelope: &Envelope) -> Result<String, BusError> {
    bounded(serde_json::to_string(envelope).expect("an envelope is texts and numbers"))
}

/// Returns the text of an envelope, if it does not exceed the maximum size.
fn bounded(text: String) -> Result<String, BusError> {
    if text.len() > MAX_ENVELOPE_BYTES { Err(BusError::TooLarge { size: text.len(), limit: MAX_ENVELOPE_BYTES }) } else { Ok(text) }
}

/// Logs an invalid receipt for an envelope.
fn pass_over(envelope: &Envelope, why: &NoReceipt) {
    tracing::warn!(nonce = %envelope.nonce, "ignored an invalid receipt; the message is sent again: {why}");
}
