//! Identities: who may call.

mod create;
mod delete;
mod get;
mod list;
mod update;
mod whoami;

pub use create::CreateIdentity;
pub use delete::DeleteIdentity;
pub use get::GetIdentity;
pub use list::ListIdentities;
pub use update::UpdateIdentity;
pub use whoami::Whoami;

use crate::error::Code;

/// What making or changing an identity can answer.
const CHANGE_ERRORS: &[Code] = &[Code::State, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
