//! Pools that run real scripts.

mod leases;
mod pool;
mod queues;
