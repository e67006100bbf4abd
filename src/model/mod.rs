//! Plain data: what a job, an event and an actor are. No I/O happens here.

mod actor;
mod event;
mod explanation;
mod given;
mod id;
mod integer;
mod job;
mod json;
mod log;
mod outcome;
mod queue;
mod retry;
mod schedule;
mod script_type;
mod spec;
mod state;
mod time;
mod tree;

pub use actor::{Actor, Presence};
pub use event::JobEvent;
pub use explanation::{Explanation, Reason, WaitsFor};
pub use given::{or_default, whole_number};
pub use id::{ContextId, InvalidId, JobId, Name, ServerId};
pub use integer::{Beyond, exact, plain_zeros};
pub use job::{Job, JobResult, Progress, Usage};
pub use json::Json;
pub use log::{LogLevel, LogLine};
pub use outcome::{ErrorKind, JobError, Limit, Output, OutputFormat};
pub use queue::{Priority, Queue, QueueInfo, Target};
pub use retry::Backoff;
pub use schedule::{Missed, Overlap, Schedule, ScheduleId, ScheduleSpec, UnknownWord};
pub use script_type::ScriptType;
pub use spec::JobSpec;
pub use state::{Event, Illegal, Next, Status};
pub use time::{InvalidTime, Seconds, Timestamp};
pub use tree::tree;
