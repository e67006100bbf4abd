//! Calls a server by JSON-RPC 2.0 on a WebSocket, as any other client does.
//!
//! One [`Client`] is one connection. Any number of calls and subscriptions share it, so clone it freely.

mod access;
mod connection;
mod error;
mod flows;
mod follow;
mod jobs;
mod list;
mod messages;
mod objects;
mod runners;
mod schedules;
mod trust;

pub use connection::Client;
pub use error::{Error, JobFailure, RpcError, code};
pub use follow::{Follow, Followable};
pub use trust::Trust;
