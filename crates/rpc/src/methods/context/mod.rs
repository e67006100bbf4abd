//! Contexts: tenants, each with jobs, objects and files of its own.

mod create;
mod delete;
mod get;
mod list;
mod update;

pub use create::CreateContext;
pub use delete::DeleteContext;
pub use get::GetContext;
pub use list::ListContexts;
pub use update::UpdateContext;

use crate::error::Code;

/// The errors of methods that read or change contexts.
const ERRORS: &[Code] = &[Code::State, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
