//! Pools that run real scripts.

mod attempts;
mod away;
mod inside;
mod leases;
mod masks;
mod pool;
mod queues;
mod speculation;
