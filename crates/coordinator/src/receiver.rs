//! The receivers of envelopes: each envelope names the node that may take it, so that it cannot be forwarded to another
//! one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::bus::{Bus, BusError};
use super::envelope::Envelope;
use super::receipt::{Receipt, ReceiptStatus};
use super::remote_connections::RemoteContext;
use super::signature::NodeKey;
use hero_model::SignerKey;

/// Maximum number of remote contexts whose node is remembered.
const MAX_REMEMBERED_CONTEXTS: usize = 1000;

/// The nodes that have answered at remote contexts whose node is not configured. The first one counts, until another
/// one answers.
#[derive(Default)]
pub(super) struct Receivers(Mutex<HashMap<RemoteContext, SignerKey>>);

impl Receivers {
    fn all(&self) -> MutexGuard<'_, HashMap<RemoteContext, SignerKey>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, remote: &RemoteContext) -> Option<SignerKey> {
        self.all().get(remote).cloned()
    }

    fn know(&self, remote: &RemoteContext, node: SignerKey) {
        let mut all = self.all();
        if all.len() >= MAX_REMEMBERED_CONTEXTS {
            all.clear();
        }
        all.insert(remote.clone(), node);
    }

    fn forget(&self, remote: &RemoteContext) {
        self.all().remove(remote);
    }
}

/// The reason why an envelope was not handed over.
pub(super) enum HandOverError {
    /// The bus failed.
    Bus(BusError),
    /// The destination is this node itself.
    Own,
    /// The signer named no receiver, and no other node may add one.
    Unnamed,
}

impl From<BusError> for HandOverError {
    fn from(error: BusError) -> Self {
        Self::Bus(error)
    }
}

/// One attempt to hand an envelope over.
pub(super) struct Transmission<'a> {
    /// The key of the sending node.
    pub(super) key: &'a NodeKey,
    pub(super) bus: &'a dyn Bus,
    /// The destination, as the bus identifies it.
    pub(super) to: &'a str,
    pub(super) remote: &'a RemoteContext,
    /// Timeout for the bus.
    pub(super) patience: Duration,
}

impl Transmission<'_> {
    /// Hands over an envelope that names its receiver, and returns the receipt. If no node is configured for the remote
    /// context, asks the remote context first: an envelope without a receiver is accepted by no node.
    pub(super) async fn hand_over(&self, envelope: &mut Envelope, receivers: &Receivers) -> Result<Receipt, HandOverError> {
        let is_told = envelope.to.is_some();
        if !is_told && envelope.public_key != self.key.public() {
            return Err(HandOverError::Unnamed);
        }
        if let Some(known) = receivers.at(self.remote).filter(|_| !is_told) {
            self.name(envelope, known)?;
        }
        let receipt = self.deliver(envelope).await?;
        let is_answer = receipt.outcome == ReceiptStatus::Full && receipt.is_of(envelope);
        if is_told || !is_answer || envelope.to.as_ref() == Some(&receipt.node) {
            return Ok(receipt);
        }
        // Another node is there now. It is named when the envelope is sent again.
        if envelope.to.is_some() {
            receivers.forget(self.remote);
            return Ok(receipt);
        }
        self.name(envelope, receipt.node.clone())?;
        receivers.know(self.remote, receipt.node);
        self.deliver(envelope).await
    }

    /// Sets a node other than the sender as the receiver of an envelope, and signs the envelope.
    fn name(&self, envelope: &mut Envelope, node: SignerKey) -> Result<(), HandOverError> {
        if node == self.key.public() {
            return Err(HandOverError::Own);
        }
        envelope.to = Some(node);
        self.key.sign(envelope);
        Ok(())
    }

    async fn deliver(&self, envelope: &Envelope) -> Result<Receipt, HandOverError> {
        if envelope.to.as_ref() == Some(&self.key.public()) {
            return Err(HandOverError::Own);
        }
        Ok(self.bus.deliver(self.to, envelope, envelope.to.as_ref(), self.patience).await?)
    }
}
