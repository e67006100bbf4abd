//! Runners: who runs the jobs of a group, here or elsewhere.

mod create;
mod delete;
mod get;
mod list;
mod update;

pub use create::CreateRunner;
pub use delete::DeleteRunner;
pub use get::GetRunner;
pub use list::ListRunners;
pub use update::UpdateRunner;

use crate::error::Code;

/// What making or changing a runner can answer.
const CHANGE_ERRORS: &[Code] = &[Code::UnknownScriptType, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];

/// What looking at runners can answer.
const ERRORS: &[Code] = &[Code::StoreUnavailable, Code::NotFound];
