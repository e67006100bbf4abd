//! Flows: groups of jobs that wait for each other.

mod create;
mod delete;
mod get;
mod list;
mod retry;
mod run_and_wait;
mod start;
mod stop;
mod subscribe;
mod wait;

pub use create::CreateFlow;
pub use delete::DeleteFlow;
pub use get::GetFlow;
pub use list::ListFlows;
pub use retry::RetryFlow;
pub use run_and_wait::RunFlowAndWait;
pub use start::StartFlow;
pub use stop::StopFlow;
pub use subscribe::SubscribeFlow;
pub use wait::WaitFlow;

use crate::error::Code;
use crate::session::auth::Session;
use hero_model::FlowSpec;

/// The errors of methods that create a flow.
const CREATE_ERRORS: &[Code] = &[
    Code::State,
    Code::UnknownScriptType,
    Code::QueueFull,
    Code::TooLarge,
    Code::StoreUnavailable,
    Code::IdempotencyReused,
    Code::NotFound,
];

/// Returns `spec` with the session's caller if it names none.
fn signed(spec: FlowSpec, session: &Session) -> FlowSpec {
    FlowSpec { caller_id: spec.caller_id.or_else(|| session.caller_id()), ..spec }
}
