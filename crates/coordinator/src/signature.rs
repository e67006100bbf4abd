//! Signs envelopes and receipts, and verifies signatures.

use std::fmt;
use std::str::FromStr;

use k256::ecdsa::signature::Verifier as _;
use k256::ecdsa::{Signature, VerifyingKey};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

use super::envelope::Envelope;
use hero_model::{MASKED, SignerKey, hex};

/// Length of the secret of a key, in bytes.
const SECRET_BYTES: usize = 32;

/// The key of a node (ed25519), which identifies it to others. It signs what the node sends.
#[derive(Clone)]
pub struct NodeKey([u8; SECRET_BYTES]);

/// The text is not such a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it does not hold 64 hexadecimal digits")]
pub struct InvalidNodeKey;

impl NodeKey {
    /// Creates a random key.
    pub fn random() -> Self {
        Self(rand::random())
    }

    /// Returns the key in the format of its file.
    pub fn to_text(&self) -> String {
        hex(&self.0)
    }

    /// Returns the public key.
    pub fn public(&self) -> SignerKey {
        hex(self.pair().public_key().as_ref()).parse().expect("an ed25519 key has 64 hexadecimal digits")
    }

    /// Returns the name of the node in keys of Redis: the beginning of its public key.
    pub fn name(&self) -> String {
        self.public().as_str()[..16].to_owned()
    }

    /// Returns a name for one server of this node among those that send messages: several servers may share a key, each
    /// with its own name.
    pub fn sender_name(&self) -> String {
        format!("{}-{:08x}", self.name(), rand::random::<u32>())
    }

    /// Signs an envelope of this node.
    pub fn sign(&self, envelope: &mut Envelope) {
        envelope.public_key = self.public();
        envelope.signature = self.signature_of(&envelope.signed(envelope.node.as_str()));
    }

    /// Returns this node's signature over some bytes.
    pub(super) fn signature_of(&self, signed: &[u8]) -> String {
        hex(self.pair().sign(signed).as_ref())
    }

    fn pair(&self) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&self.0).expect("every 32 bytes are the seed of a key")
    }
}

impl FromStr for NodeKey {
    type Err = InvalidNodeKey;

    fn from_str(text: &str) -> Result<Self, InvalidNodeKey> {
        bytes(text.trim()).and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or(InvalidNodeKey)
    }
}

impl fmt::Debug for NodeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASKED)
    }
}

/// True if the signature of an envelope is valid: for the sending node that it names, or for any sending node.
pub(super) fn is_right(envelope: &Envelope) -> bool {
    [envelope.node.as_str(), ""].into_iter().any(|node| has_signed(&envelope.public_key, &envelope.signature, &envelope.signed(node)))
}

/// True if a signature over some bytes belongs to a key.
pub(super) fn has_signed(key: &SignerKey, signature: &str, signed: &[u8]) -> bool {
    let (Some(key), Some(signature)) = (bytes(key.as_str()), bytes(signature)) else { return false };
    if key.len() == SECRET_BYTES {
        return UnparsedPublicKey::new(&ED25519, key).verify(signed, &signature).is_ok();
    }
    let (Ok(key), Ok(signature)) = (VerifyingKey::from_sec1_bytes(&key), Signature::from_slice(&signature)) else { return false };
    key.verify(signed, &signature).is_ok()
}

/// Decodes hexadecimal digits.
fn bytes(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len() / 2).map(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hero_model::ContextId;

    #[test]
    fn the_bytes_and_the_signature_of_the_document_are_those_of_the_program() {
        let document = include_str!("../../../docs/messages.md");
        let key: NodeKey = "07".repeat(32).parse().unwrap();
        let mut envelope = Envelope::example();
        key.sign(&mut envelope);
        let signed = String::from_utf8(envelope.signed(envelope.node.as_str())).unwrap();
        assert!(document.contains(&signed), "{signed}");
        for part in [key.public().as_str(), &envelope.signature] {
            assert!(document.contains(part), "{part}");
        }
        assert!(is_right(&envelope));
    }

    #[test]
    fn what_was_changed_after_it_was_signed_is_not_right() {
        let (key, mut envelope) = (NodeKey::random(), Envelope::example());
        key.sign(&mut envelope);
        assert!(is_right(&envelope));
        let changed: [fn(&mut Envelope); 9] = [
            |envelope| envelope.message.push('!'),
            |envelope| envelope.target_context = ContextId(3),
            |envelope| envelope.caller_id = 1,
            |envelope| envelope.sent_at += 1,
            |envelope| envelope.public_key = NodeKey::random().public(),
            |envelope| envelope.node = NodeKey::random().public(),
            |envelope| envelope.to = Some(NodeKey::random().public()),
            |envelope| envelope.to = None,
            |envelope| envelope.signature = "zz".into(),
        ];
        for change in changed {
            let mut other = envelope.clone();
            change(&mut other);
            assert!(!is_right(&other), "{other:?}");
        }
        // The text of one field cannot be moved to another one.
        let mut other = envelope.clone();
        (other.topic, other.message) = (String::new(), format!("{}{}", other.topic, other.message));
        assert!(!is_right(&other));
    }

    #[test]
    fn a_secp256k1_key_signs_as_well() {
        use k256::ecdsa::SigningKey;
        use k256::ecdsa::signature::Signer as _;
        let key = SigningKey::from_slice(&[7; 32]).unwrap();
        let mut envelope = Envelope::example();
        envelope.public_key = hex(key.verifying_key().to_encoded_point(false).as_bytes()).parse().unwrap();
        let sign = |envelope: &mut Envelope, node: &str| {
            let signature: Signature = key.sign(&envelope.signed(node));
            envelope.signature = hex(&signature.to_bytes());
        };
        let node = envelope.node.clone();
        sign(&mut envelope, node.as_str());
        assert!(is_right(&envelope));
        envelope.answers = 1;
        assert!(!is_right(&envelope));
        // Signed for any sending node.
        sign(&mut envelope, "");
        envelope.node = NodeKey::random().public();
        assert!(is_right(&envelope));
    }
}
