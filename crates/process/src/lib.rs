//! Child processes: who starts them, how they are confined, what they hold, and how everything below them is ended.
//!
//! The children of a server are started by one permanent thread ([`Spawner`]), and what runs for scripts becomes what it is by `hero exec`, which
//! confines it first ([`confine`]). A supervisor and a [keeper](keep) start the processes of jobs themselves, born into the PID namespace of an [`Init`].
//! And what a process is told of others: their identities, their arguments.
#![deny(unsafe_code)]

mod arguments;
pub mod cgroup;
pub mod closed;
pub mod confine;
pub mod held;
mod identity;
mod init;
pub mod keep;
mod mounts;
mod spawn;
pub mod told;
pub mod tree;

pub use arguments::arguments;
pub use identity::{has_ended, identity};
pub use init::Init;
pub use init::init_main;
pub use spawn::Spawner;

/// This program, also if its file was replaced.
pub const OURSELVES: &str = "/proc/self/exe";
