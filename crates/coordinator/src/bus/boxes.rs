use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use super::{Bus, BusError, MAX_ENVELOPE_BYTES, ReceivedEnvelope, pass_over, timed, written};
use crate::envelope::{Envelope, Kind};
use crate::receipt::{NoReceipt, Receipt};
use hero_model::{ContextId, SignerKey};
use hero_store::{Endpoint, Error, Mailboxes};

/// The interval of checks for a receipt, at first and at most.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(10);
const MAX_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum number of envelopes that are fetched at once, and their approximate total size in bytes.
const MAX_ENVELOPES_PER_FETCH: usize = 32;
const MAX_BYTES_PER_FETCH: usize = 2 * MAX_ENVELOPE_BYTES;

/// The bus of a Redis: envelopes are stored in a context, each for one receiver, until that receiver fetches them.
///
/// The server of the context fetches those for `in`. A node that has this context as an address fetches those for its
/// own key, so that only one of the two nodes must reach the other's Redis.
pub struct Boxes {
    boxes: Mailboxes,
    own: String,
}

impl Boxes {
    /// The receiver name of the server of the context.
    pub const IN: &str = "in";

    /// Creates a bus for the envelopes in a context. It fetches those for `own`.
    pub const fn new(boxes: Mailboxes, own: String) -> Self {
        Self { boxes, own }
    }

    /// Like [`Self::new`], but for a Redis elsewhere.
    pub async fn connect(endpoint: &Endpoint, context: ContextId, own: String) -> Result<Self, BusError> {
        Ok(Self::new(Mailboxes::connect(endpoint, context).await.map_err(failed)?, own))
    }
}

fn failed(error: Error) -> BusError {
    BusError::Unreachable(format!("the Redis of the other side is unavailable: {error}"))
}

impl Bus for Boxes {
    fn deliver<'a>(
        &'a self,
        to: &'a str,
        envelope: &'a Envelope,
        receiver: Option<&'a SignerKey>,
        patience: Duration,
    ) -> BoxFuture<'a, Result<Receipt, BusError>> {
        Box::pin(timed("redis", async move {
            let (text, nonce, until) = (written(envelope)?, envelope.nonce.as_str(), Instant::now() + patience);
            let is_ping = envelope.kind == Kind::Ping;
            let put = if is_ping { self.boxes.put_ping(to, nonce, &text).await } else { self.boxes.put(to, nonce, &text).await };
            if !put.map_err(failed)? {
                return Err(BusError::Unreachable("the receiver's mailbox is full".into()));
            }
            let (mut pause, mut passed_over) = (FIRST_POLL_INTERVAL, None);
            loop {
                let lies = self.boxes.receipt(nonce).await.map_err(failed)?;
                match lies.map(|text| Receipt::read(&text, envelope, receiver)) {
                    Some(Ok(receipt)) => {
                        self.boxes.forget(nonce).await.map_err(failed)?;
                        return Ok(receipt);
                    }
                    // A valid receipt replaces invalid ones.
                    Some(Err(why)) if why != NoReceipt::Earlier && passed_over.as_ref() != Some(&why) => {
                        pass_over(envelope, &why);
                        passed_over = Some(why);
                    }
                    Some(Err(_)) | None => {}
                }
                if Instant::now() + pause > until {
                    if is_ping {
                        self.boxes.take_back(to, nonce).await.map_err(failed)?;
                    }
                    return Err(BusError::Silent);
                }
                sleep(pause).await;
                pause = (pause * 2).min(MAX_POLL_INTERVAL);
            }
        }))
    }

    fn receive(&self, wait: Duration) -> BoxFuture<'_, Result<Vec<ReceivedEnvelope>, BusError>> {
        Box::pin(async move {
            let until = Instant::now() + wait;
            loop {
                let envelopes = self
                    .boxes
                    .envelopes(&self.own, MAX_ENVELOPES_PER_FETCH, MAX_ENVELOPE_BYTES, MAX_BYTES_PER_FETCH)
                    .await
                    .map_err(failed)?;
                if !envelopes.is_empty() || Instant::now() + MAX_POLL_INTERVAL > until {
                    let received = |(id, envelope): (String, Result<String, usize>)| {
                        let envelope = envelope.map_err(|size| BusError::TooLarge { size, limit: MAX_ENVELOPE_BYTES });
                        ReceivedEnvelope { id, from: None, envelope }
                    };
                    return Ok(envelopes.into_iter().map(received).collect());
                }
                sleep(MAX_POLL_INTERVAL).await;
            }
        })
    }

    fn answer<'a>(&'a self, received: &'a ReceivedEnvelope, receipt: &'a Receipt) -> BoxFuture<'a, Result<(), BusError>> {
        Box::pin(async move {
            let text = serde_json::to_string(receipt).expect("a receipt is texts and numbers");
            self.boxes.answer(&self.own, &received.id, &text).await.map_err(failed)
        })
    }
}
