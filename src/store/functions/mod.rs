//! The callers of the functions of the library: each file is the only caller of the function in `store/lua/functions` that has its
//! name; `find.rs` and `turn.rs` each call a second one, of the same beginning.
//!
//! ARGV 1 to 8 are the same for all: `store/lua/request.lua` says what they are.

mod acknowledge_message;
mod admit_identities;
mod advance_flow;
mod announce_change;
mod bury_context;
mod claim_post;
mod clean_status_index;
mod close_context;
mod close_conveyor;
mod commit_jobs;
mod complete_message;
mod control;
mod create;
mod create_flow;
mod create_token;
mod current_state;
mod declare_indexes;
mod delete;
mod delete_identity;
mod delete_message;
mod delete_object;
mod delete_runner;
mod discover;
mod drop_collection;
mod drop_index;
mod evict;
mod fill_index;
mod find;
mod find_failed;
mod find_open;
mod forget_context;
mod forget_keys;
mod found_context;
mod grant;
mod import_conveyor;
mod import_queues;
mod link_jobs;
mod list_leases;
mod log_in;
mod make_runner_jobs;
mod new_context;
mod note_access;
mod note_context;
mod note_displaced;
mod note_keys;
mod note_login;
mod note_message;
mod note_native_only;
mod note_progress;
mod number_job;
mod pause;
mod promote;
mod promote_conveyor;
mod prune;
mod purge;
mod read_conveyor_end;
mod read_lines;
mod read_objects;
mod reap;
mod receive_message;
mod receive_result;
mod receive_stop;
mod recover;
mod release_post;
mod release_relatives;
mod renew;
mod retry;
mod revoke_token;
mod schedule;
mod send_jobs;
mod send_message;
mod set_context;
mod set_identity;
mod set_object;
mod set_runner;
mod settle_message;
mod settle_stop;
mod skip_missed;
mod start;
mod stop;
mod store_flow_jobs;
mod summary;
mod sweep_conveyor;
mod tend_messages;
mod turn;
mod unschedule;
mod unstage_jobs;
mod wait;

pub use acknowledge_message::MessageAcknowledged;
pub use advance_flow::{Advanced, FlowAction};
pub(super) use announce_change::CHANGING;
pub use close_context::OpenJobs;
pub use close_conveyor::{Close, Closed};
pub(super) use create::create_batch;
pub use create::{Created, JobOfFlow, NewJob, NotFired};
pub use create_flow::{FlowCreated, NewFlow, NewFlowJob};
pub use create_token::TokenCreated;
pub use declare_indexes::{IndexesDeclared, Making};
pub use delete::Deleted;
pub use delete_message::MessageDeleted;
pub use discover::Walked;
pub use evict::Evicted;
pub use grant::Granted;
pub use import_conveyor::{Import, Imported};
pub use log_in::LoginStored;
pub use number_job::Numbered;
pub use pause::Pausing;
pub use promote::Promoted;
pub use promote_conveyor::Due;
pub use prune::Pruning;
pub use read_conveyor_end::ConveyorEnd;
pub use read_lines::LogLines;
pub use read_objects::Portion;
pub use reap::Lost;
pub use receive_message::{Lack, MadeJobs, NewMessage, Received, RunnerJob};
pub use receive_result::{FarEnd, NewResult};
pub use receive_stop::{NewStop, StopReceived};
pub use recover::Recovered;
pub use retry::Retried;
pub use schedule::Scheduling;
pub use send_message::MessageStored;
pub use set_context::ContextChange;
pub use set_identity::{IdentityChange, IdentityStored};
pub use set_object::ObjectStored;
pub use set_runner::{RunnerChange, RunnerStored};
pub use settle_message::Settled;
pub use settle_stop::StopTold;
pub use start::Started;
pub(super) use start::start_batch;
pub use stop::Stopping;
pub use tend_messages::Tended;
pub use turn::{ActorRoom, Ended, Outcome, Turn, Turned};
pub(super) use wait::READERS;

use super::error::Error;

/// Stands for the length of a queue whose key is no list, because somebody else wrote there.
pub const NO_LIST: u64 = u64::MAX;

/// What a function answered that its caller does not know.
fn unexpected(function: &'static str, reply: &impl std::fmt::Debug) -> Error {
    Error::Reply { function, reply: format!("{reply:?}") }
}
