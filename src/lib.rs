//! hero: a job server for scripts.
//!
//! Most people want the program: `hero serve` is a server with its actors, and `docs/json-rpc.md` describes the API for
//! any language. This library is for Rust programs that create jobs:
//!
//! - [`Dispatcher`] creates and follows jobs in a Redis that is shared with servers and actors;
//! - [`client`] calls a server over the network, as the command line does;
//! - [`rhailib`] and [`conveyor`] send work to queues of those layouts;
//! - [`model`] has the types of all of them: [`model::JobSpec`] describes a job, [`model::Status`] its state.
//!
//! # Next to the actors: through Redis
//!
//! ```
//! use std::time::Duration;
//!
//! use hero::Dispatcher;
//! use hero::model::{JobSpec, Status};
//!
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/doc/ground.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let ground = Ground::new().await?;
//! # let url = &*ground.url;
//! let (dispatcher, loops) = Dispatcher::connect(url).await?; // "redis://localhost"
//! let spec = JobSpec { script: "40 + 2".to_owned(), ..JobSpec::default() };
//! let (context, patience) = (spec.context_id, Duration::from_secs(60));
//!
//! // Any actor of this Redis may run it.
//! let result = dispatcher.jobs().run_and_wait(spec.clone(), patience).await?;
//! assert_eq!(result.output, "42");
//!
//! // The same in steps.
//! let id = dispatcher.jobs().create(spec).await?;
//! assert_eq!(dispatcher.jobs().status(context, &id).await?, Status::Created);
//! dispatcher.jobs().start(context, &id).await?;
//! assert_eq!(dispatcher.jobs().wait(context, &id, patience).await?.output, "42");
//!
//! loops.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # With the operations of the legacy layout
//!
//! The same under the names that programs for that layout know, in context 0:
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
//! let script = |text: &str| JobSpec { script: text.to_owned(), ..JobSpec::default() };
//!
//! // Any worker or actor of this Redis may run it.
//! assert_eq!(dispatcher.legacy().run_job_and_await_result(script("40 + 2"), "worker").await?, "42");
//!
//! let id = dispatcher.legacy().create_job(script("40 + 2")).await?;
//! assert_eq!(dispatcher.legacy().get_job_status(&id).await?, Status::Created);
//! assert_eq!(dispatcher.legacy().get_job_logs(&id).await?, None);
//! assert_eq!(dispatcher.legacy().list_jobs().await?.len(), 2);
//!
//! dispatcher.legacy().stop_job(&id).await?;
//! assert_eq!(dispatcher.legacy().get_job_status(&id).await?, Status::Error);
//! assert!(dispatcher.legacy().start_job(&id).await.is_err());
//!
//! loops.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! # From anywhere: over the network
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
//! # For programs with queues of their own
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

// Reexports of the crates below `crates`, under the names that programs and the command line use. Hidden items are for
// the program and its tests, and may change with any version.
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod cli;
mod exit;
mod read_text;
#[doc(hidden)]
pub mod server;

pub use hero_client as client;
pub use hero_jobs::dispatch;
pub use hero_layouts::{conveyor, rhailib};
pub use hero_model as model;

#[doc(hidden)]
pub use {
    hero_access as access, hero_audit as audit, hero_coordinator as coordinator, hero_docs as docs, hero_engine as engine,
    hero_jobs::actor, hero_jobs::log_file, hero_mcp as mcp, hero_process as process, hero_rpc as rpc, hero_sal as sal,
    hero_service as service, hero_store as store, hero_store::keys,
};

pub use dispatch::Dispatcher;
pub use store::Endpoint;
