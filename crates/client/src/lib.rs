#![doc = include_str!("../README.md")]
//!
//! # Run a script, with a token
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use hero_client::model::JobSpec;
//! use hero_client::{Client, Error, code};
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
//! # Follow a job across lost connections, and stop it
//!
//! ```no_run
//! use hero_client::model::{ContextId, JobSpec};
//! use hero_client::{Client, Error, Followed, Options, Reconnect};
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Error> {
//! let context = ContextId(0);
//! let options = Options { reconnect: Reconnect::within(std::time::Duration::MAX), ..Options::default() };
//! let client = Client::connect_with("ws://127.0.0.1:8700", options).await?;
//! let spec = JobSpec { script: "print(1)".to_owned(), ..JobSpec::default() };
//! let id = client.create_job(&spec).await?;
//! client.begin_job(&spec, &id).await?;
//!
//! let mut log = client.follow_logs(context, &id, None).await?;
//! loop {
//!     match log.next().await? {
//!         Followed::Item(line) => println!("{}", line.text),
//!         Followed::Lagged => println!("(the server does not have the next lines any more)"),
//!         Followed::Ended => break,
//!     }
//! }
//! client.stop_job(context, &id).await?;
//! let result = client.wait_to_the_end(context, &id, None).await?;
//! # drop(result);
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]

mod access;
mod address;
pub mod calls;
mod connection;
mod error;
mod flows;
mod follow;
mod item;
mod jobs;
mod login;
mod messages;
mod objects;
mod readiness;
mod reconnect;
mod runners;
mod schedules;
mod trust;
mod wire;

#[doc(hidden)]
pub use address::masked;
pub use connection::{Client, Options};
pub use error::{Error, JobFailure, RpcError, code};
pub use follow::{Follow, Followed};
pub use hero_model as model;
pub use item::{AnyItem, Followable};
pub use readiness::readiness;
pub use reconnect::{Reconnect, State};
pub use trust::Trust;
#[doc(hidden)]
pub use wire::Wire;
