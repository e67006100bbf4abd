//! What came of a ping to another node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Name, Seconds, SignerKey, Timestamp};

/// What came of a ping.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pong {
    /// The way that it went.
    pub route: String,
    /// The answer; absent if none came.
    pub answer: Option<PongAnswer>,
    /// Why none came.
    pub error: Option<String>,
}

/// What another node says to a ping.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PongAnswer {
    /// Its key.
    pub key: SignerKey,
    /// Its name in the setting `nodes` of the server that asks, if it has one there.
    pub name: Option<Name>,
    /// The key that a node at this address has to have by that setting, if another one answers: messages to it are not taken there.
    pub expected: Option<SignerKey>,
    /// Whether the server that asks takes what that node signs.
    pub is_trusted: bool,
    /// Whether that node takes what the server signs that asks.
    pub trusts: bool,
    /// What its clock shows.
    pub time: Timestamp,
    /// By how many seconds its clock is ahead; below 0 it is behind.
    pub clock_ahead: f64,
    /// How long it took until the answer was here.
    pub round_trip: Seconds,
}
