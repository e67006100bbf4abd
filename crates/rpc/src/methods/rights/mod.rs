//! Rights: who may do what in a context.

mod grant;
mod revoke;

pub use grant::Grant;
pub use revoke::Revoke;

use crate::error::Code;

/// What changing rights can answer.
const ERRORS: &[Code] = &[Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
