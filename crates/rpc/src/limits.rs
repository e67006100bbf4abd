use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use hero_model::Seconds;

/// The limits of one connection, of one address, and of the whole server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Calls a second of one address; 0 does not limit them. Loopback without login is not limited.
    pub calls_per_second: u32,
    /// Calls of one connection that are being answered at the same time.
    pub calls_per_connection: u32,
    /// Calls of one address that are being answered at the same time.
    pub calls_per_address: u32,
    /// Calls in one batch. Each counts as one call.
    pub batch: u32,
    /// Bytes of one request: a body, or a WebSocket message.
    pub request_bytes: u32,
    /// Bytes of one response.
    pub response_bytes: u32,
    /// Subscriptions of one connection.
    pub subscriptions_per_connection: u32,
    /// Subscriptions of one address.
    pub subscriptions_per_address: u32,
    /// Bytes held for one connection: its requests until they are answered, and its answers until they are read. More make requests and calls wait.
    pub held_per_connection: u64,
    /// Bytes held for one address.
    pub held_per_address: u64,
    /// Bytes held for all.
    pub held: u64,
    /// Open connections of the server.
    pub connections: u32,
    /// Open connections of one address.
    pub connections_per_address: u32,
    /// Messages of one connection that wait to be sent. More make calls and subscriptions wait.
    pub send_buffer: u32,
    /// How long a subscription waits for its slow reader before it ends with an error.
    pub send_timeout: Seconds,
    /// How long a client may leave ready data unread before its connection is closed.
    pub write_timeout: Seconds,
    /// The maximum seconds of a call, besides the wait that it asks for.
    pub handler_timeout: Seconds,
    /// Seconds after which an HTTP connection without requests is closed.
    pub idle_timeout: Seconds,
    /// Seconds between the WebSocket pings of the server; three without an answer close the connection.
    pub ping_interval: Seconds,
}

/// The defaults. The settings of the command line take theirs from here.
impl Default for Limits {
    fn default() -> Self {
        let seconds = |seconds| Seconds::from(Duration::from_secs(seconds));
        Self {
            calls_per_second: 0,
            calls_per_connection: 1024,
            calls_per_address: 8192,
            batch: 100,
            request_bytes: 2 * 1024 * 1024,
            response_bytes: 16 * 1024 * 1024,
            subscriptions_per_connection: 100,
            subscriptions_per_address: 1024,
            held_per_connection: 32 * 1024 * 1024,
            held_per_address: 64 * 1024 * 1024,
            held: 256 * 1024 * 1024,
            connections: 1000,
            connections_per_address: 500,
            send_buffer: 256,
            send_timeout: seconds(10),
            write_timeout: seconds(30),
            handler_timeout: seconds(30),
            idle_timeout: seconds(75),
            ping_interval: seconds(20),
        }
    }
}
