//! What came of a ping to another node.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Name, Seconds, SignerKey, Timestamp};

/// The result of a ping.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pong {
    /// The route that it took.
    pub route: String,
    /// The answer; absent if none came.
    pub answer: Option<PongAnswer>,
    /// Why no answer came.
    pub error: Option<String>,
}

/// The answer of another node to a ping.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PongAnswer {
    /// Its key.
    pub key: SignerKey,
    /// Its name in the setting `nodes` of the server that asks, if it has one there.
    pub name: Option<Name>,
    /// The key that this setting has for the address, if a node with another key answers. Messages to it are not
    /// accepted there.
    pub expected: Option<SignerKey>,
    /// Whether the server that asks accepts messages signed by that node.
    pub is_trusted: bool,
    /// Whether that node accepts messages signed by the server that asks.
    pub trusts: bool,
    /// The time of its clock.
    pub time: Timestamp,
    /// The seconds by which its clock is ahead; below 0 it is behind.
    pub clock_ahead: f64,
    /// How long the answer took.
    pub round_trip: Seconds,
}
