//! All tests from outside, in one binary. Each test has its own redis-server.
//!
//! `actor`, `cli`, `client`, `conveyor`, `dispatch`, `engine`, `rpc`, `sal` and `store` test the part of `src` or
//! `crates` with the same name. The others test the whole: `layouts`, `foreign`, `clients` and `mcp` play foreign
//! programs, `model` and `chaos` run random operations, `floors` reads the source. All use `support`.
#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, reason = "what fails in a test shall panic")]
#![expect(clippy::disallowed_macros, reason = "a test says its seed")]
#![expect(unreachable_pub, reason = "a test binary has no outside")]

mod access;
mod actor;
mod audit;
mod chaos;
mod cli;
mod client;
mod clients;
mod contexts;
mod conveyor;
mod dispatch;
mod documents;
mod engine;
mod floors;
mod flows;
mod foreign;
mod layouts;
mod mcp;
mod messages;
mod model;
mod rpc;
mod runners;
mod sal;
mod store;
mod support;
