#![doc = include_str!("../README.md")]
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
mod host_call;
mod job;
mod limits;
mod log_room;
mod look_up;
mod meter;
mod names;
mod program;
pub mod reference;
mod resource_call;
mod rhai;
mod script_engine;
mod script_function;
mod settings;

pub use alloc::trim_heap;
pub use capability::Capability;
pub use child::Child;
pub use command::{confinement_main, supervisor_main};
pub use error::{Died, Error};
pub use host_call::{Answer, HostCall, JobCall, ObjectCall, Use};
pub use job::{EngineJob, Host, LogRecord, RunResult};
pub use limits::{Limits, size};
pub use look_up::look_up;
pub use meter::Meter;
pub use names::Names;
pub use program::{Command, Program, Python, V};
pub use resource_call::{FileCall, LARGEST_TEXT, NetCall, ProcessCall, RedisCall, RedisCommand, ResourceCall};
pub use rhai::{check, check_all, engine_main, is_heroscript};
pub use script_engine::{Absent, ProgramSettings};
pub use settings::EngineSettings;
