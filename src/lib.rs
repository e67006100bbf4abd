//! hero: a job server for scripts.
//!
//! Most people want the program: `hero serve` is a server with its actors, and `docs/json-rpc.md` says how any language talks to it. This library is for
//! programs in Rust that make jobs:
//!
//! - [`Dispatcher`] makes and follows jobs in a Redis that is shared with servers and actors;
//! - [`client`] calls a server over the wire, as the command line does;
//! - [`rhailib`] and [`conveyor`] hand work to queues of those layouts;
//! - [`model`] is what all of them speak of: [`model::JobSpec`] says what a job is to be, [`model::Status`] where it is in its life.
//!
//! # Beside the actors: with Redis
//!
//! ```
//! use hero::Dispatcher;
//! use hero::model::{JobSpec, Status};
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/ground.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let ground = Ground::new().await?;
//! # let url = &*ground.url;
//! let (dispatcher, loops) = Dispatcher::connect(url).await?; // "redis://localhost"
//!
//! // Any actor of this Redis may run it.
//! let spec = JobSpec { script: "40 + 2".to_owned(), ..JobSpec::default() };
//! let id = dispatcher.create_job(spec.clone()).await?;
//! assert_eq!(dispatcher.get_job_status(&id).await?, Status::Created);
//! assert_eq!(dispatcher.run_job_and_await_result(spec, "worker").await?, "42");
//!
//! loops.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # From anywhere: over the wire
//!
//! ```
//! use std::time::Duration;
//!
//! use hero::client::Client;
//! use hero::model::JobSpec;
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/ground.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let ground = Ground::new().await?;
//! # let (dispatcher, _loops) = hero::Dispatcher::connect(&ground.url).await?;
//! # let url = &*Ground::serve(&dispatcher).await?;
//! let client = Client::connect(url, None).await?; // "ws://localhost:8700"
//!
//! let spec = JobSpec { script: "40 + 2".to_owned(), ..JobSpec::default() };
//! let result = client.run_and_wait(&spec, Duration::from_secs(60)).await?;
//! assert_eq!(result.output, "42");
//! # Ok(())
//! # }
//! ```
//!
//! # For programs that have queues of their own
//!
//! ```
//! use std::time::Duration;
//!
//! use hero::{Endpoint, conveyor, rhailib};
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/ground.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let ground = Ground::new().await?;
//! # let url = &*ground.url;
//! let redis = Endpoint { url: url.to_owned(), ..Endpoint::default() }; // "redis://localhost"
//!
//! let tasks = rhailib::Client::connect(&redis).await?;
//! let task = rhailib::Task::new("osis".parse()?, "40 + 2");
//! assert_eq!(tasks.submit_and_wait(&task, Duration::from_secs(60)).await?, "42");
//!
//! let jobs = conveyor::Context::new(conveyor::Conveyor::connect(&redis, None).await?);
//! let mut job = conveyor::Job { queue: "mail".into(), r#type: "osis".into(), payload: b"40 + 2".into(), ..Default::default() };
//! conveyor::add(&jobs, Some(&mut job), false).await?;
//! assert!(!job.uuid.is_empty());
//! # Ok(())
//! # }
//! ```

// The floors, bottom up; a module uses only its own floor's module and floors below it (`tests/it/floors/mod.rs`). What is hidden is for the program and its tests,
// and may change with any version.
#![deny(unsafe_code)]

pub mod model; // Plain data.

#[doc(hidden)]
pub mod docs; // The documents as a site.
#[doc(hidden)]
pub mod keys; // Every Redis key.
#[doc(hidden)]
pub mod process; // Child processes, started by one thread and confined.

#[doc(hidden)]
pub mod audit; // The audit log.
#[doc(hidden)]
pub mod log_file; // Log files, confined to one directory.
#[doc(hidden)]
pub mod service; // Tick loops.

#[doc(hidden)]
pub mod store; // Redis, and the only place that knows it.

#[doc(hidden)]
pub mod access; // Who may call: identities, tokens, rights.
pub mod conveyor; // The conveyor layout: producer and consumer.
pub mod dispatch; // Create, start, wait for and stop jobs.
#[doc(hidden)]
pub mod engine; // Script engines and their processes.
pub mod rhailib; // A client of rhailib's workers.

#[doc(hidden)]
pub mod sal; // What scripts may do outside of their engines.

#[doc(hidden)]
pub mod actor; // Pools, actors, presence.

#[doc(hidden)]
pub mod coordinator; // Flows, runners and messages.

#[doc(hidden)]
pub mod rpc; // The wire.

pub mod client; // Calls a server over the wire.

#[doc(hidden)]
pub mod mcp; // Assistants: methods as tools of the Model Context Protocol.

#[doc(hidden)]
pub mod cli; // A file per subcommand.

pub use dispatch::Dispatcher;
pub use store::Endpoint;
