//! The client of *rhailib*: hands Rhai scripts to the workers of a circle through Redis, and waits for results on a reply queue of its own.
//!
//! It speaks to any worker of that layout; pools of this program are some (`--compat`, on by default).
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use hero::rhailib::{Client, Task};
//! use hero::store::Endpoint;
//!
//! # async fn example() -> Result<(), hero::rhailib::Error> {
//! let client = Client::connect(&Endpoint { url: "redis://127.0.0.1".into(), ..Endpoint::default() }).await?;
//! let task = Task::new("osis".parse().expect("a name"), "40 + 2");
//! assert_eq!(client.submit_and_wait(&task, Duration::from_secs(10)).await?, "42");
//! # Ok(())
//! # }
//! ```

mod client;
mod error;
mod task;

pub use client::Client;
pub use error::Error;
pub use task::{Details, Status, Task};
