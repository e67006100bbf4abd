//! Tokens: the credentials of programs.

mod create;
mod list;
mod revoke;

pub use create::CreateToken;
pub use list::ListTokens;
pub use revoke::RevokeToken;
