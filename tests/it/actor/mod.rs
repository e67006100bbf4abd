//! Pools that run real scripts.

mod away;
mod inside;
mod leases;
mod masks;
mod pool;
mod queues;
