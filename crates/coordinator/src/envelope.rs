use serde::{Deserialize, Serialize};

use hero_model::{ContextId, MessageFormat, MessageType, Name, SignerKey, Timestamp};

/// The kind of an envelope.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A message.
    #[default]
    Message,
    /// A stop of the jobs of an earlier message, which it refers to by `in_reply_to`.
    Stop,
    /// A request for the identity and the clock of the receiver.
    Ping,
}

impl Kind {
    /// Returns the prefix of the signed bytes.
    const fn head(self) -> &'static str {
        match self {
            Self::Message => "hero message 2\n",
            Self::Stop => "hero stop 2\n",
            Self::Ping => "hero ping 2\n",
        }
    }

    /// True for a message, whose kind is omitted in JSON.
    fn is_message(&self) -> bool {
        *self == Self::Message
    }
}

/// A signed message in transit, as JSON on a bus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// Its kind.
    #[serde(default, skip_serializing_if = "Kind::is_message")]
    pub kind: Kind,
    /// Identifies the message: up to 64 letters and digits. It is the same however often the message is sent.
    pub nonce: Name,
    /// The caller that sends it.
    pub caller_id: u32,
    /// Its number at the caller.
    pub message_id: u32,
    /// The type of the message.
    pub message_type: MessageType,
    /// The format of the text.
    pub message_format_type: MessageFormat,
    /// The context of the sender.
    pub context: ContextId,
    /// The context of the receiver.
    pub target_context: ContextId,
    /// The topic; empty if there is none.
    #[serde(default)]
    pub topic: String,
    /// The text.
    #[serde(default)]
    pub message: String,
    /// The jobs, a JSON list as text, so that it is passed on unchanged.
    #[serde(default)]
    pub job: String,
    /// Total timeout, in seconds.
    pub timeout: u32,
    /// Timeout for storing it, in seconds.
    pub timeout_ack: u32,
    /// Timeout for the result after that, in seconds.
    pub timeout_result: u32,
    /// The time of its creation, in seconds since 1970.
    pub created_at: i64,
    /// The time of the signature, in seconds since 1970. A node signs each time it sends.
    pub sent_at: i64,
    /// The nonce of the message that it answers, or an empty text.
    #[serde(default)]
    pub in_reply_to: String,
    /// The number of the message that it answers, or 0.
    #[serde(default)]
    pub answers: u32,
    /// The node that sends it, and that fetches envelopes for it.
    pub node: SignerKey,
    /// The receiving node, if the sender knows its key. Other nodes refuse it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<SignerKey>,
    /// The key of the signer.
    pub public_key: SignerKey,
    /// The signature of [`Envelope::signed`], ed25519 or ECDSA (secp256k1, SHA-256), as 128 hexadecimal digits.
    #[serde(default)]
    pub signature: String,
}

impl Envelope {
    /// Creates an envelope without content, from a node, as of now. It is not signed.
    pub(super) fn new(kind: Kind, nonce: Name, context: ContextId, target_context: ContextId, node: SignerKey) -> Self {
        let now = Timestamp::local().as_millis() / 1000;
        Self {
            kind,
            nonce,
            caller_id: 0,
            message_id: 0,
            message_type: MessageType::Chat,
            message_format_type: MessageFormat::Text,
            context,
            target_context,
            topic: String::new(),
            message: String::new(),
            job: "[]".into(),
            timeout: 0,
            timeout_ack: 0,
            timeout_result: 0,
            created_at: now,
            sent_at: now,
            in_reply_to: String::new(),
            answers: 0,
            node: node.clone(),
            to: None,
            public_key: node,
            signature: String::new(),
        }
    }

    /// Returns the signed bytes: a prefix, and then for each field its name, the length of its value in bytes, and the
    /// value, in this order.
    ///
    /// `node` is the node that sends it. It is empty in a signature by an identity that does not know the sending node.
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
        canonical(self.kind.head(), &fields)
    }
}

/// Returns a prefix, and then for each field its name, the length of its value in bytes, and the value.
pub(super) fn canonical(head: &str, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = head.as_bytes().to_vec();
    for (name, value) in fields {
        bytes.extend_from_slice(format!("{name}:{}:", value.len()).as_bytes());
        bytes.extend_from_slice(value.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
impl Envelope {
    /// The envelope of the document, from the node with the key of 32 bytes 07; it is not signed.
    pub(super) fn example() -> Self {
        let key: SignerKey = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c".parse().expect("it is a key");
        let nonce: Name = "5f0c2b8e9a417d365f0c2b8e9a417d36".parse().expect("it is a name");
        Self {
            caller_id: 12,
            message_id: 101,
            topic: "runner20".into(),
            message: "Grüße".into(),
            timeout: 3600,
            timeout_ack: 300,
            timeout_result: 3600,
            created_at: 1_795_255_200,
            sent_at: 1_795_255_260,
            to: Some("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a".parse().expect("it is a key")),
            ..Self::new(Kind::Message, nonce, ContextId(0), ContextId(2), key)
        }
    }
}
