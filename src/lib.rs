//! hero: a job server for scripts.
//!
//! The floors, bottom up; a module uses only its own floor's module and floors below it (`tests/it/floors.rs`):
#![deny(unsafe_code)]

pub mod model; // Plain data.

pub mod keys; // Every Redis key.
