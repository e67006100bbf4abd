//! Whom an envelope is for: each names the node that may take it, so that nobody gives it to another one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::bus::{Bus, BusError};
use super::envelope::Envelope;
use super::receipt::{Outcome, Receipt};
use super::signature::NodeKey;
use super::ways::Place;
use hero_model::SignerKey;

/// Of how many places it is known which node has answered there.
const MOST: usize = 1000;

/// The nodes that have answered at places of which nobody has said which node is there: whoever was first counts, until another one answers.
#[derive(Default)]
pub(super) struct Receivers(Mutex<HashMap<Place, SignerKey>>);

impl Receivers {
    fn all(&self) -> MutexGuard<'_, HashMap<Place, SignerKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, place: &Place) -> Option<SignerKey> {
        self.all().get(place).cloned()
    }

    fn know(&self, place: &Place, node: SignerKey) {
        let mut all = self.all();
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(place.clone(), node);
    }

    fn forget(&self, place: &Place) {
        self.all().remove(place);
    }
}

/// Why an envelope was not handed over.
pub(super) enum HandedOver {
    /// The bus did not.
    Bus(BusError),
    /// It leads back to this node.
    Own,
    /// Whoever signed it does not say whom it is for, and nobody else may.
    Unnamed,
}

impl From<BusError> for HandedOver {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

/// One attempt to hand envelopes over.
pub(super) struct Attempt<'a> {
    /// The key of the node that sends.
    pub(super) key: &'a NodeKey,
    pub(super) bus: &'a dyn Bus,
    /// The destination, as the bus knows it.
    pub(super) to: &'a str,
    pub(super) place: &'a Place,
    /// How long the bus may take.
    pub(super) patience: Duration,
}

impl Attempt<'_> {
    /// Hands an envelope over that names its receiver, and gives what that says. Where nobody has said which node is at a place, that says it first: a
    /// envelope without a receiver is taken by nobody.
    pub(super) async fn hand_over(&self, envelope: &mut Envelope, receivers: &Receivers) -> Result<Receipt, HandedOver> {
        let is_told = envelope.to.is_some();
        if !is_told && envelope.public_key != self.key.public() {
            return Err(HandedOver::Unnamed);
        }
        if let Some(known) = receivers.at(self.place).filter(|_| !is_told) {
            self.name(envelope, known)?;
        }
        let receipt = self.deliver(envelope).await?;
        let is_answer = receipt.outcome == Outcome::Full && receipt.is_of(envelope);
        if is_told || !is_answer || envelope.to.as_ref() == Some(&receipt.node) {
            return Ok(receipt);
        }
        // Another one is there now, and is named when it is sent again.
        if envelope.to.is_some() {
            receivers.forget(self.place);
            return Ok(receipt);
        }
        self.name(envelope, receipt.node.clone())?;
        receivers.know(self.place, receipt.node);
        self.deliver(envelope).await
    }

    /// Has an envelope name a node as its receiver, which is another one than its sender.
    fn name(&self, envelope: &mut Envelope, node: SignerKey) -> Result<(), HandedOver> {
        if node == self.key.public() {
            return Err(HandedOver::Own);
        }
        envelope.to = Some(node);
        self.key.sign(envelope);
        Ok(())
    }

    async fn deliver(&self, envelope: &Envelope) -> Result<Receipt, HandedOver> {
        if envelope.to.as_ref() == Some(&self.key.public()) {
            return Err(HandedOver::Own);
        }
        Ok(self.bus.deliver(self.to, envelope, envelope.to.as_ref(), self.patience).await?)
    }
}
