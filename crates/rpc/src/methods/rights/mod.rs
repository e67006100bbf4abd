//! Rights: the roles of identities in a context.

mod grant;
mod revoke;

pub use grant::Grant;
pub use revoke::Revoke;

use crate::error::Code;

/// The errors of methods that change rights.
const ERRORS: &[Code] = &[Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
