#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

pub mod bus;
mod bus_reader;
mod delivery;
/// A message in transit, signed.
pub mod envelope;
mod error;
pub mod flows;
mod inbound;
mod known_nodes;
mod message_loops;
mod messages;
mod outgoing;
mod ping;
pub mod receipt;
mod receiver;
mod recording;
mod remote_connections;
mod routes;
mod runner_job;
mod runners;
mod signature;
mod silence;
mod stop;
mod wakes;

pub use error::Error;
pub use known_nodes::KnownNodes;
pub use message_loops::{IDLE_CONNECTION_TIMEOUT, MessageLoopSettings, MessageLoops};
pub use messages::{LONGEST_MESSAGE, Messages};
pub use ping::Pinger;
pub use routes::Node;
pub use runners::Runners;
pub use signature::{InvalidNodeKey, NodeKey};
pub use wakes::Wakes;
