#![doc = include_str!("../README.md")]
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
pub mod proc_file;
mod spawn;
pub mod tree;

pub use arguments::arguments;
pub use identity::{has_ended, identity};
pub use init::Init;
pub use spawn::Spawner;

/// This program, even if its file was replaced.
pub const OURSELVES: &str = "/proc/self/exe";
