use serde::{Deserialize, Serialize};

use crate::model::{ContextId, MessageFormat, MessageType, Name, SignerKey};

/// What stands before everything that is signed.
const HEAD: &str = "hero message 2\n";

/// A message on its way: what is handed to a bus, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Letter {
    /// Tells the message from every other: up to 64 letters and digits. It is the same however often the message is sent.
    pub nonce: Name,
    /// Who sends it.
    pub caller_id: u32,
    /// Its number at the sender.
    pub message_id: u32,
    /// What it is.
    pub message_type: MessageType,
    /// What it is written in.
    pub message_format_type: MessageFormat,
    /// The context that it comes from.
    pub context: ContextId,
    /// The context that it is for.
    pub target_context: ContextId,
    /// What it is about; empty where nothing was said.
    #[serde(default)]
    pub topic: String,
    /// What it says.
    #[serde(default)]
    pub message: String,
    /// Its jobs, a JSON list as text, so that nobody writes it anew.
    #[serde(default)]
    pub job: String,
    /// The seconds that it may take in all.
    pub timeout: u32,
    /// The seconds within which it has to be stored.
    pub timeout_ack: u32,
    /// The seconds after that within which a result has to come.
    pub timeout_result: u32,
    /// When it was made, in seconds since 1970.
    pub created_at: i64,
    /// When it was signed, in seconds since 1970: a node signs anew each time that it sends.
    pub sent_at: i64,
    /// The nonce of the message that it answers; empty if it answers none.
    #[serde(default)]
    pub in_reply_to: String,
    /// The number of the message that it answers; 0 if it answers none.
    #[serde(default)]
    pub answers: u32,
    /// The node that sends it, which fetches what is for it.
    pub node: SignerKey,
    /// The node that it is for, if the sender knows its key: no other takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SignerKey>,
    /// Who signed it.
    pub public_key: SignerKey,
    /// Ed25519 or ECDSA (secp256k1, SHA-256) over what [`Letter::signed`] gives, 128 hexadecimal digits.
    #[serde(default)]
    pub signature: String,
}

impl Letter {
    /// What is signed: a head, and then of each field its name, how many bytes its value has, and the value, in this order.
    ///
    /// `node` is the node that sends it; an identity that does not know which one will leaves that empty.
    pub fn signed(&self, node: &str) -> Vec<u8> {
        let fields: [(&str, &str); 19] = [
            ("nonce", self.nonce.as_str()),
            ("caller_id", &self.caller_id.to_string()),
            ("id", &self.message_id.to_string()),
            ("message_type", self.message_type.as_str()),
            ("message_format_type", self.message_format_type.as_str()),
            ("context_id", &self.context.to_string()),
            ("target_context", &self.target_context.to_string()),
            ("topic", &self.topic),
            ("message", &self.message),
            ("job", &self.job),
            ("timeout", &self.timeout.to_string()),
            ("timeout_ack", &self.timeout_ack.to_string()),
            ("timeout_result", &self.timeout_result.to_string()),
            ("created_at", &self.created_at.to_string()),
            ("sent_at", &self.sent_at.to_string()),
            ("in_reply_to", &self.in_reply_to),
            ("answers", &self.answers.to_string()),
            ("node", node),
            ("to", self.to.as_ref().map_or("", SignerKey::as_str)),
        ];
        let mut bytes = HEAD.as_bytes().to_vec();
        for (name, value) in fields {
            bytes.extend_from_slice(format!("{name}:{}:", value.len()).as_bytes());
            bytes.extend_from_slice(value.as_bytes());
            bytes.push(b'\n');
        }
        bytes
    }
}

/// What became of a letter at the other side.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The letter.
    pub nonce: Name,
    /// When that letter was signed.
    pub sent_at: i64,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it was refused.
    #[serde(default)]
    pub text: String,
    /// The node that says so.
    pub node: SignerKey,
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

impl Receipt {
    /// Whether the other side has the letter.
    pub fn is_stored(&self) -> bool {
        self.outcome == Outcome::Stored
    }
}
