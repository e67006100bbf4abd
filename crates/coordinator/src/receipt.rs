//! The outcome of an envelope at the other side, signed by the node there, so that no other can forge it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::envelope::{Envelope, canonical};
use super::signature::{NodeKey, has_signed};
use hero_model::{Name, SignerKey, excerpt, hex};

/// The prefix of the signed bytes.
const HEAD: &str = "hero receipt 2\n";
/// Maximum length of the text of a receipt that is kept, in characters: it goes into the log, and into the message.
const MAX_TEXT_CHARS: usize = 1024;

/// The status of an envelope at the other side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The nonce of the envelope.
    pub nonce: Name,
    /// The caller that sent the envelope; 0 if the envelope is unknown.
    #[serde(default)]
    pub caller_id: u32,
    /// The number of the message at its caller; 0 if it is unknown.
    #[serde(default)]
    pub message_id: u32,
    /// The time of the envelope's signature.
    pub sent_at: i64,
    /// The digest of the envelope, which identifies it. Empty if the envelope could not be read, or was not signed by
    /// the signer that it names.
    #[serde(default, rename = "letter")]
    pub envelope: String,
    /// The outcome.
    pub outcome: ReceiptStatus,
    /// The reason of a refusal.
    #[serde(default)]
    pub text: String,
    /// The node that answers.
    pub node: SignerKey,
    /// The node that sent the envelope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SignerKey>,
    /// The ed25519 signature of [`Receipt::signed`], as 128 hexadecimal digits.
    #[serde(default)]
    pub signature: String,
}

/// The status of an envelope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptStatus {
    /// The envelope is stored, or was stored before.
    Stored,
    /// There is no room now; the envelope may be sent again.
    Full,
    /// The envelope is refused for good.
    Refused,
}

impl ReceiptStatus {
    /// Returns the word of the wire.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Full => "full",
            Self::Refused => "refused",
        }
    }
}

/// The reason why a receipt is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoReceipt {
    /// It cannot be parsed.
    #[error("it cannot be read: {0}")]
    Form(String),
    /// It is for an earlier sending of the envelope, and does not tell whether the envelope is stored now.
    #[error("it is for an earlier attempt")]
    Earlier,
    /// It is for another envelope.
    #[error("it is for another envelope, according to the node {0}")]
    OfAnother(SignerKey),
    /// The node that it names has not signed it.
    #[error("the signature is not that of the node {0}")]
    Signature(SignerKey),
    /// It comes from a node that the envelope was not sent to.
    #[error("it is from the node {is}, but the message was sent to the node {right}")]
    Node { is: SignerKey, right: SignerKey },
    /// The bus reports another sender than the receiver of the envelope.
    #[error("it comes from {0}, but the message was not sent there")]
    Elsewhere(String),
}

impl Receipt {
    /// Creates the signed receipt for an envelope.
    pub fn new(envelope: &Envelope, outcome: ReceiptStatus, text: String, key: &NodeKey) -> Self {
        let receipt = Self {
            nonce: envelope.nonce.clone(),
            caller_id: envelope.caller_id,
            message_id: envelope.message_id,
            sent_at: envelope.sent_at,
            envelope: digest(envelope),
            outcome,
            text,
            node: key.public(),
            to: Some(envelope.node.clone()),
            signature: String::new(),
        };
        receipt.signed_by(key)
    }

    /// Creates the receipt for an invalid envelope, or one that was not signed by the signer that it names. If another
    /// envelope has this nonce, its sender sends it again.
    pub(super) fn of_no_envelope(nonce: Name, text: String, key: &NodeKey) -> Self {
        let (envelope, signature) = Default::default();
        let receipt = Self {
            nonce,
            caller_id: 0,
            message_id: 0,
            sent_at: i64::MAX,
            envelope,
            outcome: ReceiptStatus::Refused,
            text,
            node: key.public(),
            to: None,
            signature,
        };
        receipt.signed_by(key)
    }

    fn signed_by(mut self, key: &NodeKey) -> Self {
        self.signature = key.signature_of(&self.signed());
        self
    }

    /// Returns the signed bytes: like those of an envelope, with another prefix.
    pub fn signed(&self) -> Vec<u8> {
        canonical(
            HEAD,
            &[
                ("nonce", self.nonce.as_str()),
                ("caller_id", &self.caller_id.to_string()),
                ("id", &self.message_id.to_string()),
                ("sent_at", &self.sent_at.to_string()),
                ("letter", &self.envelope),
                ("outcome", self.outcome.as_str()),
                ("text", &self.text),
                ("node", self.node.as_str()),
                ("to", self.to.as_ref().map_or("", SignerKey::as_str)),
            ],
        )
    }

    /// Parses and checks a receipt for an envelope. `receiver` is the node that the envelope was sent to, if its key is
    /// known: only that node can report that the envelope is stored, or refused for good. Any node can ask to send it
    /// again.
    pub(super) fn read(text: &str, envelope: &Envelope, receiver: Option<&SignerKey>) -> Result<Self, NoReceipt> {
        let unread = |error: serde_json::Error| NoReceipt::Form(excerpt(&error.to_string(), MAX_TEXT_CHARS).into_owned());
        let mut receipt: Self = serde_json::from_str(text).map_err(unread)?;
        if !has_signed(&receipt.node, &receipt.signature, &receipt.signed()) {
            return Err(NoReceipt::Signature(receipt.node));
        }
        // The signature covers the whole text, which is not used below.
        receipt.text = excerpt(&receipt.text, MAX_TEXT_CHARS).into_owned();
        if receipt.nonce != envelope.nonce {
            return Err(NoReceipt::OfAnother(receipt.node));
        }
        if receipt.sent_at < envelope.sent_at && !receipt.is_stored() {
            return Err(NoReceipt::Earlier);
        }
        if !receipt.is_final() {
            return Ok(receipt);
        }
        match receiver {
            Some(right) if *right != receipt.node => Err(NoReceipt::Node { is: receipt.node, right: right.clone() }),
            _ if !receipt.is_of(envelope) => Err(NoReceipt::OfAnother(receipt.node)),
            _ => Ok(receipt),
        }
    }

    /// True if it is for this envelope, or for an earlier sending of the same envelope.
    pub(super) fn is_of(&self, envelope: &Envelope) -> bool {
        let sent = if self.sent_at == envelope.sent_at {
            Cow::Borrowed(envelope)
        } else {
            Cow::Owned(Envelope { sent_at: self.sent_at, ..envelope.clone() })
        };
        self.to.as_ref() == Some(&envelope.node) && self.envelope == digest(&sent)
    }

    /// True if the other side has the envelope.
    pub fn is_stored(&self) -> bool {
        self.outcome == ReceiptStatus::Stored
    }

    /// True if the envelope need not be sent again.
    pub fn is_final(&self) -> bool {
        match self.outcome {
            ReceiptStatus::Stored => true,
            ReceiptStatus::Full => false,
            // Another program may have replaced the envelope.
            ReceiptStatus::Refused => !self.envelope.is_empty(),
        }
    }
}

/// Returns the digest of an envelope: of its signed bytes, and of the signer's key.
fn digest(envelope: &Envelope) -> String {
    let key = canonical("", &[("public_key", envelope.public_key.as_str())]);
    hex(&Sha256::new().chain_update(envelope.signed(envelope.node.as_str())).chain_update(key).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The secret key of the receiving node in the document.
    const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

    fn read(receipt: &Receipt, envelope: &Envelope) -> Result<Receipt, NoReceipt> {
        Receipt::read(&serde_json::to_string(receipt).unwrap(), envelope, envelope.to.as_ref())
    }

    #[test]
    fn the_receipt_of_the_document_is_that_of_the_program() {
        let document = include_str!("../../../docs/messages.md");
        let (key, envelope): (NodeKey, Envelope) = (SECRET.parse().unwrap(), Envelope::example());
        let receipt = Receipt::new(&envelope, ReceiptStatus::Stored, String::new(), &key);
        let signed = String::from_utf8(receipt.signed()).unwrap();
        for part in [&signed, &receipt.signature] {
            assert!(document.contains(part), "{part}");
        }
        assert_eq!(read(&receipt, &envelope), Ok(receipt));
    }

    #[test]
    fn what_was_changed_after_it_was_signed_counts_for_nothing() {
        let (key, envelope): (NodeKey, Envelope) = (SECRET.parse().unwrap(), Envelope::example());
        let receipt = Receipt::new(&envelope, ReceiptStatus::Refused, "no".into(), &key);
        let changed: [fn(&mut Receipt); 8] = [
            |receipt| receipt.outcome = ReceiptStatus::Stored,
            |receipt| receipt.text.clear(),
            |receipt| receipt.caller_id += 1,
            |receipt| receipt.message_id += 1,
            |receipt| receipt.sent_at += 1,
            |receipt| receipt.to = None,
            |receipt| receipt.envelope.clear(),
            |receipt| receipt.signature.clear(),
        ];
        for change in changed {
            let mut other = receipt.clone();
            change(&mut other);
            assert_eq!(read(&other, &envelope), Err(NoReceipt::Signature(key.public())), "{other:?}");
        }
    }

    #[test]
    fn of_a_text_that_is_very_long_only_the_beginning_counts() {
        let (key, envelope): (NodeKey, Envelope) = (SECRET.parse().unwrap(), Envelope::example());
        let receipt = Receipt::new(&envelope, ReceiptStatus::Refused, "é".repeat(60_000), &key);
        assert_eq!(read(&receipt, &envelope).unwrap().text, format!("{}…", "é".repeat(MAX_TEXT_CHARS)));
        let unread = serde_json::to_string(&receipt).unwrap().replace("refused", &"x".repeat(60_000));
        let Err(NoReceipt::Form(why)) = Receipt::read(&unread, &envelope, None) else { panic!("it was read") };
        assert!(why.chars().count() <= MAX_TEXT_CHARS + 1, "{} characters", why.chars().count());
    }

    #[test]
    fn a_receipt_is_of_one_envelope_however_often_that_was_sent() {
        let (key, envelope): (NodeKey, Envelope) = (SECRET.parse().unwrap(), Envelope::example());
        let again = Envelope { sent_at: envelope.sent_at + 60, ..envelope.clone() };
        let of = |envelope: &Envelope, outcome| Receipt::new(envelope, outcome, String::new(), &key);
        assert!(read(&of(&envelope, ReceiptStatus::Stored), &again).unwrap().is_stored());
        for outcome in [ReceiptStatus::Full, ReceiptStatus::Refused] {
            assert_eq!(read(&of(&envelope, outcome), &again), Err(NoReceipt::Earlier));
        }
        let another = NoReceipt::OfAnother(key.public());
        let others: [fn(&mut Envelope); 4] = [
            |envelope| envelope.message.push('!'),
            |envelope| envelope.public_key = NodeKey::random().public(),
            |envelope| envelope.node = NodeKey::random().public(),
            |envelope| envelope.nonce = Name::default_group(),
        ];
        for change in others {
            let mut other = envelope.clone();
            change(&mut other);
            assert_eq!(read(&of(&other, ReceiptStatus::Stored), &envelope), Err(another.clone()));
        }
    }

    #[test]
    fn only_the_node_that_an_envelope_is_for_ends_its_sending() {
        let (key, other, envelope): (NodeKey, NodeKey, Envelope) = (SECRET.parse().unwrap(), NodeKey::random(), Envelope::example());
        for outcome in [ReceiptStatus::Stored, ReceiptStatus::Refused] {
            let receipt = Receipt::new(&envelope, outcome, String::new(), &other);
            assert_eq!(read(&receipt, &envelope), Err(NoReceipt::Node { is: other.public(), right: key.public() }));
        }
        // Any node may delay an envelope, and a receipt for no envelope ends no sending.
        let full = Receipt::new(&envelope, ReceiptStatus::Full, "it is for another node".into(), &other);
        assert!(!read(&full, &envelope).unwrap().is_final());
        let of_none = Receipt::of_no_envelope(envelope.nonce.clone(), "it is no envelope".into(), &key);
        assert!(!read(&of_none, &envelope).unwrap().is_final());
    }
}
