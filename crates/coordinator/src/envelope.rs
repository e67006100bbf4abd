use serde::{Deserialize, Serialize};

use hero_model::{ContextId, MessageFormat, MessageType, Name, SignerKey};

/// What an envelope is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A message.
    #[default]
    Message,
    /// The stop of the jobs of a message that was sent before, which is the one that it answers.
    Stop,
    /// Asks who is there, and what time it is.
    Ping,
}

impl Kind {
    /// What stands before everything that is signed.
    const fn head(self) -> &'static str {
        match self {
            Self::Message => "hero message 2\n",
            Self::Stop => "hero stop 2\n",
            Self::Ping => "hero ping 2\n",
        }
    }

    /// Whether it is a message: of that nothing is said.
    fn is_message(&self) -> bool {
        *self == Self::Message
    }
}

/// A message on its way: what is handed to a bus, as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Envelope {
    /// What it is about.
    #[serde(default, skip_serializing_if = "Kind::is_message")]
    pub kind: Kind,
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

impl Envelope {
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
        canonical(self.kind.head(), &fields)
    }
}

/// A head, and then of each field its name, how many bytes its value has, and the value.
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
    /// The envelope of the document, from the key of 32 bytes 07; it is not signed.
    pub(super) fn example() -> Self {
        let key: SignerKey = "ea4a6c63e29c520abef5507b132ec5f9954776aebebe7b92421eea691446d22c".parse().expect("it is a key");
        Self {
            kind: Kind::Message,
            nonce: "5f0c2b8e9a417d365f0c2b8e9a417d36".parse().expect("it is a name"),
            caller_id: 12,
            message_id: 101,
            message_type: MessageType::Chat,
            message_format_type: MessageFormat::Text,
            context: ContextId(0),
            target_context: ContextId(2),
            topic: "runner20".into(),
            message: "Grüße".into(),
            job: "[]".into(),
            timeout: 3600,
            timeout_ack: 300,
            timeout_result: 3600,
            created_at: 1_795_255_200,
            sent_at: 1_795_255_260,
            in_reply_to: String::new(),
            answers: 0,
            node: key.clone(),
            to: Some("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a".parse().expect("it is a key")),
            public_key: key,
            signature: String::new(),
        }
    }
}
