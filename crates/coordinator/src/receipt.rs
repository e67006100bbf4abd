//! What became of a letter at the other side, signed by the node there, so that nobody else says it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::letter::{Letter, canonical};
use super::signature::{NodeKey, has_signed};
use hero_model::{Name, SignerKey, excerpt, hex};

/// What stands before everything that is signed.
const HEAD: &str = "hero receipt 2\n";
/// How much is kept of what the other side says in a receipt, characters: it goes into the log, and into the message.
const LONGEST: usize = 1024;

/// What became of a letter at the other side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The letter.
    pub nonce: Name,
    /// Who sent that letter; 0 where it is not known what letter it was.
    #[serde(default)]
    pub caller_id: u32,
    /// Its number at the sender; 0 where that is not known.
    #[serde(default)]
    pub message_id: u32,
    /// When that letter was signed.
    pub sent_at: i64,
    /// The digest of that letter, which tells it from every other; empty where it could not be read, or was not signed by whom it names.
    #[serde(default)]
    pub letter: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was refused.
    #[serde(default)]
    pub text: String,
    /// The node that says so.
    pub node: SignerKey,
    /// The node that sent that letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SignerKey>,
    /// Ed25519 over what [`Receipt::signed`] gives, 128 hexadecimal digits.
    #[serde(default)]
    pub signature: String,
}

/// What became of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// It is stored, or was before.
    Stored,
    /// There is no room now; it may be sent again.
    Full,
    /// It is refused for good.
    Refused,
}

impl Outcome {
    /// The word of the wire.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Stored => "stored",
            Self::Full => "full",
            Self::Refused => "refused",
        }
    }
}

/// Why what came as a receipt counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoReceipt {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Form(String),
    /// It is of a letter that was sent before, of which it is not known yet whether it is stored.
    #[error("it is of an earlier sending")]
    Earlier,
    /// It is of another letter.
    #[error("it is of another letter, says the node {0}")]
    OfAnother(SignerKey),
    /// Whoever it names has not signed it.
    #[error("the signature is not that of the node {0}")]
    Signature(SignerKey),
    /// It comes from a node to which the letter did not go.
    #[error("it is of the node {is}, and the message went to the node {right}")]
    Node { is: SignerKey, right: SignerKey },
    /// The bus says that it comes from elsewhere than where the letter went.
    #[error("it comes from {0}, where the message did not go")]
    Elsewhere(String),
}

impl Receipt {
    /// What a node says of a letter.
    pub fn new(letter: &Letter, outcome: Outcome, text: String, key: &NodeKey) -> Self {
        let receipt = Self {
            nonce: letter.nonce.clone(),
            caller_id: letter.caller_id,
            message_id: letter.message_id,
            sent_at: letter.sent_at,
            letter: digest(letter),
            outcome,
            text,
            node: key.public(),
            to: Some(letter.node.clone()),
            signature: String::new(),
        };
        receipt.signed_by(key)
    }

    /// What a node says of something that is no letter, or was not signed by whom it names: whoever sent another one by this nonce sends it again.
    pub(super) fn of_no_letter(nonce: Name, text: String, key: &NodeKey) -> Self {
        let (letter, signature) = Default::default();
        let receipt = Self {
            nonce,
            caller_id: 0,
            message_id: 0,
            sent_at: i64::MAX,
            letter,
            outcome: Outcome::Refused,
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

    /// What is signed: as of a letter, with a head of its own.
    pub fn signed(&self) -> Vec<u8> {
        canonical(
            HEAD,
            &[
                ("nonce", self.nonce.as_str()),
                ("caller_id", &self.caller_id.to_string()),
                ("id", &self.message_id.to_string()),
                ("sent_at", &self.sent_at.to_string()),
                ("letter", &self.letter),
                ("outcome", self.outcome.as_str()),
                ("text", &self.text),
                ("node", self.node.as_str()),
                ("to", self.to.as_ref().map_or("", SignerKey::as_str)),
            ],
        )
    }

    /// Reads what came as the receipt for a letter. `receiver` is the node that the letter went to, if its key is known: no other one says that the
    /// letter is stored, or refused for good. That it is to be sent again anybody may say.
    pub(super) fn read(text: &str, letter: &Letter, receiver: Option<&SignerKey>) -> Result<Self, NoReceipt> {
        let unread = |error: serde_json::Error| NoReceipt::Form(excerpt(&error.to_string(), LONGEST).into_owned());
        let mut receipt: Self = serde_json::from_str(text).map_err(unread)?;
        if !has_signed(&receipt.node, &receipt.signature, &receipt.signed()) {
            return Err(NoReceipt::Signature(receipt.node));
        }
        // What is signed is the whole text, and nothing looks at it below.
        receipt.text = excerpt(&receipt.text, LONGEST).into_owned();
        if receipt.nonce != letter.nonce {
            return Err(NoReceipt::OfAnother(receipt.node));
        }
        if receipt.sent_at < letter.sent_at && !receipt.is_stored() {
            return Err(NoReceipt::Earlier);
        }
        if !receipt.is_final() {
            return Ok(receipt);
        }
        match receiver {
            Some(right) if *right != receipt.node => Err(NoReceipt::Node { is: receipt.node, right: right.clone() }),
            _ if !receipt.is_of(letter) => Err(NoReceipt::OfAnother(receipt.node)),
            _ => Ok(receipt),
        }
    }

    /// Whether it is of this letter, or of the same one as it was signed when it was sent before.
    pub(super) fn is_of(&self, letter: &Letter) -> bool {
        let sent = if self.sent_at == letter.sent_at {
            Cow::Borrowed(letter)
        } else {
            Cow::Owned(Letter { sent_at: self.sent_at, ..letter.clone() })
        };
        self.to.as_ref() == Some(&letter.node) && self.letter == digest(&sent)
    }

    /// Whether the other side has the letter.
    pub fn is_stored(&self) -> bool {
        self.outcome == Outcome::Stored
    }

    /// Whether the letter need not be sent again.
    pub fn is_final(&self) -> bool {
        match self.outcome {
            Outcome::Stored => true,
            Outcome::Full => false,
            // Somebody else may have put something in the place of the letter.
            Outcome::Refused => !self.letter.is_empty(),
        }
    }
}

/// The digest of a letter: of what is signed of it, and of who signs.
fn digest(letter: &Letter) -> String {
    let key = canonical("", &[("public_key", letter.public_key.as_str())]);
    hex(&Sha256::new().chain_update(letter.signed(letter.node.as_str())).chain_update(key).finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The node of the document to which its letter goes.
    const SECRET: &str = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";

    fn read(receipt: &Receipt, letter: &Letter) -> Result<Receipt, NoReceipt> {
        Receipt::read(&serde_json::to_string(receipt).unwrap(), letter, letter.to.as_ref())
    }

    #[test]
    fn the_receipt_of_the_document_is_that_of_the_program() {
        let document = include_str!("../../../docs/messages.md");
        let (key, letter): (NodeKey, Letter) = (SECRET.parse().unwrap(), Letter::example());
        let receipt = Receipt::new(&letter, Outcome::Stored, String::new(), &key);
        let signed = String::from_utf8(receipt.signed()).unwrap();
        for part in [&signed, &receipt.signature] {
            assert!(document.contains(part), "{part}");
        }
        assert_eq!(read(&receipt, &letter), Ok(receipt));
    }

    #[test]
    fn what_was_changed_after_it_was_signed_counts_for_nothing() {
        let (key, letter): (NodeKey, Letter) = (SECRET.parse().unwrap(), Letter::example());
        let receipt = Receipt::new(&letter, Outcome::Refused, "no".into(), &key);
        let changed: [fn(&mut Receipt); 8] = [
            |receipt| receipt.outcome = Outcome::Stored,
            |receipt| receipt.text.clear(),
            |receipt| receipt.caller_id += 1,
            |receipt| receipt.message_id += 1,
            |receipt| receipt.sent_at += 1,
            |receipt| receipt.to = None,
            |receipt| receipt.letter.clear(),
            |receipt| receipt.signature.clear(),
        ];
        for change in changed {
            let mut other = receipt.clone();
            change(&mut other);
            assert_eq!(read(&other, &letter), Err(NoReceipt::Signature(key.public())), "{other:?}");
        }
    }

    #[test]
    fn of_a_text_that_is_very_long_only_the_beginning_counts() {
        let (key, letter): (NodeKey, Letter) = (SECRET.parse().unwrap(), Letter::example());
        let receipt = Receipt::new(&letter, Outcome::Refused, "é".repeat(60_000), &key);
        assert_eq!(read(&receipt, &letter).unwrap().text, format!("{}…", "é".repeat(LONGEST)));
        let unread = serde_json::to_string(&receipt).unwrap().replace("refused", &"x".repeat(60_000));
        let Err(NoReceipt::Form(why)) = Receipt::read(&unread, &letter, None) else { panic!("it was read") };
        assert!(why.chars().count() <= LONGEST + 1, "{} characters", why.chars().count());
    }

    #[test]
    fn a_receipt_is_of_one_letter_however_often_that_was_sent() {
        let (key, letter): (NodeKey, Letter) = (SECRET.parse().unwrap(), Letter::example());
        let again = Letter { sent_at: letter.sent_at + 60, ..letter.clone() };
        let of = |letter: &Letter, outcome| Receipt::new(letter, outcome, String::new(), &key);
        assert!(read(&of(&letter, Outcome::Stored), &again).unwrap().is_stored());
        for outcome in [Outcome::Full, Outcome::Refused] {
            assert_eq!(read(&of(&letter, outcome), &again), Err(NoReceipt::Earlier));
        }
        let another = NoReceipt::OfAnother(key.public());
        let others: [fn(&mut Letter); 4] = [
            |letter| letter.message.push('!'),
            |letter| letter.public_key = NodeKey::random().public(),
            |letter| letter.node = NodeKey::random().public(),
            |letter| letter.nonce = Name::default_group(),
        ];
        for change in others {
            let mut other = letter.clone();
            change(&mut other);
            assert_eq!(read(&of(&other, Outcome::Stored), &letter), Err(another.clone()));
        }
    }

    #[test]
    fn only_the_node_that_a_letter_is_for_ends_its_sending() {
        let (key, other, letter): (NodeKey, NodeKey, Letter) = (SECRET.parse().unwrap(), NodeKey::random(), Letter::example());
        for outcome in [Outcome::Stored, Outcome::Refused] {
            let receipt = Receipt::new(&letter, outcome, String::new(), &other);
            assert_eq!(read(&receipt, &letter), Err(NoReceipt::Node { is: other.public(), right: key.public() }));
        }
        // What keeps it where it is may be said by anybody, and what is of no letter ends none.
        let full = Receipt::new(&letter, Outcome::Full, "it is for another node".into(), &other);
        assert!(!read(&full, &letter).unwrap().is_final());
        let of_none = Receipt::of_no_letter(letter.nonce.clone(), "it is no letter".into(), &key);
        assert!(!read(&of_none, &letter).unwrap().is_final());
    }
}
