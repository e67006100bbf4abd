//! Runners: they run the jobs of a group, here or elsewhere.

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

/// The errors of methods that create or change a runner.
const CHANGE_ERRORS: &[Code] = &[Code::UnknownScriptType, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];

/// The errors of methods that read runners.
const ERRORS: &[Code] = &[Code::StoreUnavailable, Code::NotFound];
