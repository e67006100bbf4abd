//! Calls a server by JSON-RPC 2.0 on a WebSocket, as the command line does.
//!
//! One [`Client`] is one connection. Any number of calls and subscriptions share it, so clone it freely. Each method of `openrpc.json` that programs
//! need is a method here; [`Client::call`] makes any other by its name.
//!
//! A connection that has ended stays so: calls give [`Error::Closed`], which says that nobody knows what became of those under way. Whoever goes on
//! connects again. A job is made once, however often that happens, if its [`JobSpec`](crate::model::JobSpec) has an `idempotency_key`; and a
//! subscription goes on behind the last item that was read, if it is opened with [`Follow::cursor`].
//!
//! # Run a script, with a token
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use hero::client::{Client, Error, code};
//! use hero::model::JobSpec;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Error> {
//! let client = Client::connect("wss://hero.example.com", Some("hero_…")).await?;
//! let spec = JobSpec { script: "40 + 2".to_owned(), ..JobSpec::default() };
//! match client.run_and_wait(&spec, Duration::from_secs(60)).await {
//!     Ok(result) => println!("{}", result.output),
//!     Err(Error::Rpc(error)) if error.code == code::JOB_FAILED => {
//!         let failure = error.job_failure().expect("a failed job says how it failed");
//!         println!("{:?} in line {:?}: {}", failure.error.kind, failure.error.line, failure.error.message);
//!     }
//!     Err(error) if error.has_code(code::WAIT_RAN_OUT) => println!("it goes on: {error}"),
//!     Err(error) => return Err(error),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Follow a job, also over a connection that breaks, and stop it
//!
//! ```no_run
//! use hero::client::{Client, Error};
//! use hero::model::{ContextId, JobSpec};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Error> {
//! let (url, context) = ("ws://127.0.0.1:8700", ContextId(0));
//! let mut client = Client::connect(url, None).await?;
//! // By its key it is the same job when this is called again.
//! let spec = JobSpec { script: "print(1)".to_owned(), idempotency_key: Some("today".to_owned()), ..JobSpec::default() };
//! let id = client.create_job(&spec).await?;
//! client.begin_job(&spec, &id).await?;
//!
//! let mut log = client.follow_logs(context, &id, None).await?;
//! loop {
//!     match log.next().await {
//!         Ok(Some(line)) => println!("{}", line.text),
//!         Ok(None) => break,
//!         Err(Error::Closed(_)) => {
//!             client = Client::connect(url, None).await?;
//!             log = client.follow_logs(context, &id, log.cursor()).await?;
//!         }
//!         Err(error) => return Err(error),
//!     }
//! }
//! client.stop_job(context, &id).await?;
//! let result = client.wait_to_the_end(context, &id, None).await?;
//! # drop(result);
//! # Ok(())
//! # }
//! ```

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
