//! Child processes: all are started by one permanent thread, and through a trampoline that confines them first. And which process is which.

mod arguments;
pub mod confine;
mod identity;
mod spawn;

pub use arguments::arguments;
pub use identity::{has_ended, identity};
pub use spawn::Spawner;
