//! Pools that run real scripts.

mod inside;
mod leases;
mod masks;
mod pool;
mod queues;
