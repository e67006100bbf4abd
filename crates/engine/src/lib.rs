//! Script engines and the processes they run in.
//!
//! A job runs in a child process that has no connection and no secret: [`Child`] is the parent's side of it, [`engine_main`]
//! the body of the hidden `hero engine`, and [`frame`] the whole contract between them. Every engine is started through the one
//! permanent thread of a [`Spawner`](hero_process::Spawner) and through the hidden `hero exec`, which confines it first ([`hero_process::confine`]).
//!
//! Scripts in Rhai run inside the engine. Others are run by a [`Program`], a process for each job: then the engine is a supervisor
//! ([`supervisor_main`]), which starts, watches and ends these processes, each through `hero exec`, and speaks the same frames.
//!
//! A script that is only to be compiled goes to an engine, too ([`Child::check`]). [`check()`] compiles a script in this process, for the user who runs it.
//!
//! An engine knows nothing of queues. What a script logs, and each [`Question`] that it asks, goes to a [`Host`]: about objects, about jobs, and of the outside. What it may ask is a
//! [`Capability`]; those that an operator gives are its grants.
#![deny(unsafe_code)]

mod alloc;
mod capability;
mod child;
mod command;
#[doc(hidden)]
pub mod directory;
pub mod environment;
mod error;
pub mod frame;
#[cfg(any(test, feature = "fuzzing"))]
#[doc(hidden)]
pub mod fuzzing;
mod job;
mod limits;
mod log_room;
mod meter;
mod outside;
mod question;
pub mod reference;
mod rhai;
mod settings;

pub use alloc::trim_heap;
pub use capability::Capability;
pub use child::Child;
pub use command::{Command, Program, Python, V, confinement_main, supervisor_main};
pub use error::{Died, Error};
pub use job::{EngineJob, Host, LogRecord, Outcome};
pub use limits::{Limits, size};
pub use meter::Meter;
pub use outside::{FileCall, LARGEST_TEXT, NetCall, OutsideCall, ProcessCall, RedisCall, RedisCommand};
pub use question::{Answer, JobCall, ObjectCall, Question, Use};
pub use rhai::{Names, check, engine_main, is_heroscript};
pub use settings::EngineSettings;
