//! Jobs: creating, starting, stopping, reading and deleting them.

mod create;
mod create_many;
mod delete;
mod explain;
mod get;
mod list;
mod logs;
mod number;
mod result;
mod retry;
mod run_and_wait;
mod start;
mod status;
mod stop;
mod subscribe;
mod subscribe_events;
mod subscribe_logs;
mod wait;
mod waited;

pub use create::CreateJob;
pub use create_many::CreateJobs;
pub use delete::DeleteJob;
pub use explain::ExplainJob;
pub use get::GetJob;
pub use list::ListJobs;
pub use logs::GetLogs;
pub use number::NumberJob;
pub use result::GetResult;
pub use retry::RetryJob;
pub use run_and_wait::RunAndWait;
pub use start::StartJob;
pub use status::GetStatus;
pub use stop::StopJob;
pub use subscribe::SubscribeJob;
pub use subscribe_events::SubscribeEvents;
pub use subscribe_logs::SubscribeLogs;
pub use wait::WaitJob;

use crate::error::Code;
use crate::session::auth::Session;
use hero_model::JobSpec;

/// Returns `spec` with the session's caller if it names none.
pub(super) fn signed(mut spec: JobSpec, session: &Session) -> JobSpec {
    if spec.caller_id.is_none() {
        spec.caller_id = session.caller_id();
    }
    spec
}

/// The errors of methods that create a job.
pub(super) const CREATE_ERRORS: &[Code] = &[
    Code::State,
    Code::UnknownScriptType,
    Code::QueueFull,
    Code::TooLarge,
    Code::StoreUnavailable,
    Code::IdempotencyReused,
    Code::NotFound,
    Code::JobNotFound,
];

/// The errors of methods that read a job.
const LOOK_ERRORS: &[Code] = &[Code::JobNotFound, Code::StoreUnavailable, Code::NotFound];

/// The errors of methods that change a job.
const CHANGE_ERRORS: &[Code] = &[Code::JobNotFound, Code::State, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
