//! Pools that run real scripts.

mod leases;
mod masks;
mod pool;
mod queues;
