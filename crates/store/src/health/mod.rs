//! How Redis is: its identity, its memory, and what other programs did to its keys.

pub(crate) mod info;
pub(crate) mod memory;
pub(crate) mod memory_throttle;
pub(crate) mod redis_id;
pub(crate) mod spoilt;
