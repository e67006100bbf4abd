//! Tokens: by which programs say who they are.

mod create;
mod list;
mod revoke;

pub use create::CreateToken;
pub use list::ListTokens;
pub use revoke::RevokeToken;
