//! The client of *rhailib*: submits Rhai scripts to the workers of a circle through Redis, and waits for results on
//! reply queues of its own.
//!
//! It works with any worker of that layout. Pools of hero are such workers (`--compat`, on by default). The front page
//! of the [crate] has an example.

mod client;
mod error;
mod task;

pub use client::Client;
pub use error::Error;
pub use task::{Details, Status, Task};
