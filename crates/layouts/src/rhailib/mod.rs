//! The client of *rhailib*: hands Rhai scripts to the workers of a circle through Redis, and waits for results on a reply queue of its own.
//!
//! It speaks to any worker of that layout; pools of this program are some (`--compat`, on by default). The front page of the [crate] has an example.

mod client;
mod error;
mod task;

pub use client::Client;
pub use error::Error;
pub use task::{Details, Status, Task};
