//! Everything that is tested from outside, in one binary: each test has a redis-server of its own.
//!
//! `actor`, `cli`, `client`, `conveyor`, `dispatch`, `engine`, `rpc`, `sal` and `store` are about what stands below the same name in `src`. The others are about the whole: `layouts`,
//! `foreign`, `clients` and `mcp` play programs that are not ours, `model` and `chaos` lead random lives, `floors` reads the source. All stand on `support`.
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
