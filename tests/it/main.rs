//! Everything that is tested from outside, in one binary: each test has a redis-server of its own.
#![expect(clippy::unwrap_used, reason = "what fails in a test shall panic")]
#![expect(clippy::disallowed_macros, reason = "a test says its seed")]
#![expect(unreachable_pub, reason = "a test binary has no outside")]

mod actor;
mod chaos;
mod cli;
mod clients;
mod cluster;
mod contexts;
mod dialects;
mod dialects_conveyor;
mod documents;
mod engine;
mod floors;
mod foreign;
mod memory;
mod model;
mod outside;
mod pressure;
mod relations;
mod rpc;
mod rpc_wire;
mod schedules;
mod serve;
mod store;
mod support;
