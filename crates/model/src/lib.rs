#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod actor;
mod address;
mod attempt;
mod context;
mod environment;
mod event;
mod excerpt;
mod explanation;
mod flow;
mod given;
mod hex;
mod id;
mod identity;
mod integer;
mod job;
mod json;
mod log;
mod masked;
mod message;
mod object;
mod outcome;
mod pong;
mod queue;
mod retry;
mod runner;
mod schedule;
mod script_type;
mod secrecy;
mod secrets;
mod signature;
mod signer;
mod spec;
mod state;
mod terminal;
mod time;
mod tree;

pub use actor::{Actor, Presence};
pub use address::{Address, InvalidAddress, Place};
pub use attempt::{Attempt, Usage};
pub use context::{Context, ContextLimits, ContextPage, ContextStatus};
pub use environment::shown;
pub use event::JobEvent;
pub use excerpt::excerpt;
pub use explanation::{Explanation, Reason, WaitsFor};
pub use flow::{Flow, FlowEvent, FlowId, FlowJob, FlowJobSpec, FlowPage, FlowSpec, FlowStatus, FlowSummary, OnFailure};
pub use given::{each_once, each_once_or_none, or_default, whole_number};
pub use hex::{hex, unhex};
pub use id::{ContextId, InvalidId, JobId, Name, ServerId};
pub use identity::{Identity, IdentityId, IdentityPage, InvalidPublicKey, InvalidTokenId, PublicKey, Role, Token, TokenId};
pub use integer::{Beyond, exact, plain_zeros};
pub use job::{Input, Job, JobResult, Progress};
pub use json::{Json, without_position};
pub use log::{LogLevel, LogLine};
pub use message::{Message, MessageFormat, MessageKey, MessageList, MessageLog, MessagePage, MessageStatus, MessageType};
pub use object::{
    Collection, Comparison, Condition, Find, Index, InvalidObjectId, ObjectId, ObjectPage, Range, SortKey, StoredObject, Test, conditions,
    keys_at, names,
};
pub use outcome::{ErrorKind, JobError, Limit, Output, OutputFormat};
pub use pong::{Pong, PongAnswer};
pub use queue::{Priority, Queue, QueueInfo, Target};
pub use retry::Backoff;
pub use runner::{Runner, RunnerId, RunnerPage};
pub use schedule::{Missed, Overlap, Schedule, ScheduleId, ScheduleSpec, Standing, UnknownWord};
pub use script_type::ScriptType;
pub use secrecy::{MASKED, PLAIN};
pub use secrets::Secrets;
pub use signature::{InvalidPrivateKey, InvalidSignature, PrivateKey, Signature};
pub use signer::{InvalidSignerKey, SignerKey};
pub use spec::JobSpec;
pub use state::{Event, Illegal, Next, Status};
pub use terminal::{controls_terminal, escaped};
pub use time::{InvalidTime, Seconds, Timestamp, number_and_unit};
pub use tree::tree;
