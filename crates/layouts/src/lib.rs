//! The layouts of other systems, for programs that have queues of those: [`conveyor`]'s producer and how its queues are served, and a client
//! of [`rhailib`]'s workers.
#![deny(unsafe_code)]

pub mod conveyor;
pub mod rhailib;
