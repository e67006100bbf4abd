//! hero: a job server for scripts.
//!
//! The floors, bottom up; a module uses only its own floor's module and floors below it (`tests/it/floors.rs`):
#![deny(unsafe_code)]

pub mod model; // Plain data.

pub mod keys; // Every Redis key.
pub mod process; // Child processes, started by one thread and confined.

pub mod log_file; // Log files, confined to one directory.
pub mod service; // Tick loops.

pub mod store; // Redis, and the only place that knows it.

pub mod conveyor; // The conveyor dialect: producer and consumer.
pub mod dispatch; // Create, start, wait for and stop jobs.
pub mod engine; // Script engines and their processes.
pub mod rhailib; // A client of rhailib's workers.

pub mod actor; // Pools, actors, presence.

pub mod rpc; // The wire.

pub mod client; // The RPC client that the CLI uses.

pub mod cli; // A file per subcommand.

pub use dispatch::Dispatcher;
