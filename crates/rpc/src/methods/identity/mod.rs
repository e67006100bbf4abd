//! Identities: the callers with rights.

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

/// The errors of methods that create or change an identity.
const CHANGE_ERRORS: &[Code] = &[Code::State, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
