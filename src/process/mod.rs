//! Child processes: all are started by one permanent thread, and through a trampoline that confines them first.

pub mod confine;
mod spawn;

pub use spawn::Spawner;
