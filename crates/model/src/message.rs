//! Messages between contexts and nodes.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Address, ContextId, Json, Name, SignerKey, Timestamp, UnknownWord, excerpt};

/// The type of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageType {
    /// Jobs to run at the other side.
    Job,
    /// A line to somebody.
    #[default]
    Chat,
    /// A letter to somebody.
    Mail,
    /// The end of a job that arrived in a message.
    Result,
}

impl MessageType {
    /// The word in Redis and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Job => "job",
            Self::Chat => "chat",
            Self::Mail => "mail",
            Self::Result => "result",
        }
    }
}

/// The format of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageFormat {
    /// HTML.
    Html,
    /// Plain text.
    #[default]
    Text,
    /// Markdown.
    Md,
}

impl MessageFormat {
    /// The word in Redis and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Text => "text",
            Self::Md => "md",
        }
    }
}

/// The status of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageStatus {
    /// It is to be sent, or was received and not fetched.
    #[default]
    Dispatched,
    /// The other side has stored it, or its owner has it.
    Acknowledged,
    /// It did not arrive, or no result came in time.
    Error,
    /// Its result has arrived.
    Processed,
}

impl MessageStatus {
    /// The word in Redis and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Dispatched => "dispatched",
            Self::Acknowledged => "acknowledged",
            Self::Error => "error",
            Self::Processed => "processed",
        }
    }
}

macro_rules! words {
    ($type:ty, $known:literal, $($word:ident),*) => {
        impl FromStr for $type {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                [$(Self::$word),*].into_iter().find(|one| one.as_str() == text).ok_or_else(|| UnknownWord { word: excerpt(text, 48).into_owned(), known: $known })
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words!(MessageType, "job, chat, mail, result", Job, Chat, Mail, Result);
words!(MessageFormat, "html, text, md", Html, Text, Md);
words!(MessageStatus, "dispatched, acknowledged, error, processed", Dispatched, Acknowledged, Error, Processed);

/// The name of a message in its context: its sender and its number. `message:{caller}:{n}` is its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageKey {
    /// The number of the identity that sent it; 0 if none did.
    pub caller_id: u32,
    /// Its number.
    pub message_id: u32,
}

impl fmt::Display for MessageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message:{}:{}", self.caller_id, self.message_id)
    }
}

impl FromStr for MessageKey {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownWord { word: excerpt(text, 48).into_owned(), known: "the names of messages, such as 12:101" };
        let number = |text: &str| text.parse().map_err(|_| unknown());
        let rest = text.strip_prefix("message:").unwrap_or(text);
        let (caller, message) = rest.split_once(':').ok_or_else(unknown)?;
        Ok(Self { caller_id: number(caller)?, message_id: number(message)? })
    }
}

/// A line of the log of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessageLog {
    /// When it was logged, in seconds since 1970.
    pub time: u32,
    /// The text of the line.
    pub text: String,
}

/// A message as it is stored.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// The sender; 0 is nobody.
    pub caller_id: u32,
    /// Its number.
    pub message_id: u32,
    /// The context that has it.
    #[serde(default)]
    pub context_id: ContextId,
    /// The text.
    #[serde(default)]
    pub message: String,
    /// The type of the message.
    #[serde(default)]
    pub message_type: MessageType,
    /// The format of the text.
    #[serde(default)]
    pub message_format_type: MessageFormat,
    /// The total seconds that it may take.
    #[serde(default)]
    pub timeout: u32,
    /// The seconds within which the other side must store it.
    #[serde(default)]
    pub timeout_ack: u32,
    /// The seconds after that within which its result must arrive, if it has jobs.
    #[serde(default)]
    pub timeout_result: u32,
    /// Its jobs, in the form of the coordinator's specification; the values of `env_vars` are shown as `***`.
    #[serde(default)]
    pub job: Vec<Json>,
    /// Its log.
    #[serde(default)]
    pub logs: Vec<MessageLog>,
    /// When it was created, to the second.
    pub created_at: Timestamp,
    /// When it was last changed, to the second.
    pub updated_at: Timestamp,
    /// Its status.
    #[serde(default)]
    pub status: MessageStatus,
    /// The context that receives it.
    #[serde(default)]
    pub target_context: ContextId,
    /// The topic at the other side, normally that of a runner.
    pub topic: Option<Name>,
    /// Its destination.
    pub address: Option<Address>,
    /// The key that signed it, if that is known.
    pub public_key: Option<SignerKey>,
    /// The number of the message that it answers.
    pub answers: Option<u32>,
    /// Why it is in error.
    pub error: Option<String>,
}

/// A message that is to be sent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Draft {
    /// The sender; 0 is nobody.
    #[serde(skip_serializing_if = "is_nobody")]
    pub caller_id: u32,
    /// The text.
    pub message: String,
    /// The type of the message.
    pub message_type: MessageType,
    /// The format of the text.
    pub message_format_type: MessageFormat,
    /// The seconds within which the other side must store it.
    pub timeout_ack: u32,
    /// The seconds after that within which a result has to come, if it has jobs.
    pub timeout_result: u32,
    /// Its jobs.
    pub job: Vec<Json>,
    /// The context that receives it.
    pub target_context: ContextId,
    /// Its topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topic: Option<Name>,
    /// Its destination; by default that of its topic.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
}

fn is_nobody(caller_id: &u32) -> bool {
    *caller_id == 0
}

/// Messages of one list.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagePage {
    /// The messages, in the order in which they are taken.
    pub messages: Vec<Message>,
    /// The cursor of the next page, if there are more.
    pub next_cursor: Option<String>,
}

/// The lists in which messages wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MessageList {
    /// Received messages that were not fetched.
    #[default]
    In,
    /// Messages to be sent.
    Out,
}

impl MessageList {
    /// Its key in Redis.
    pub const fn key(self) -> &'static str {
        match self {
            Self::In => "msg_in",
            Self::Out => "msg_out",
        }
    }
}
