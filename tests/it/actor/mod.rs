//! Pools that run real scripts.

mod pool;
mod queues;
