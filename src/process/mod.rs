//! Child processes, which are all started by one permanent thread and confined by `hero exec` first. And the identities of processes.

mod arguments;
pub mod confine;
pub mod held;
mod identity;
mod init;
pub mod keep;
mod spawn;
pub mod tree;

pub use arguments::arguments;
pub use identity::{has_ended, identity};
pub use init::{Init, init_main};
pub use spawn::Spawner;

/// This program, also if its file was replaced.
pub(crate) const OURSELVES: &str = "/proc/self/exe";
