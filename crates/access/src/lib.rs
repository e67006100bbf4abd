//! Who may call: identities, the tokens that stand for them, and the rights that they have in contexts.
//!
//! [`Authority`] is all of it. What it knows is in Redis: identities and tokens where context 0 is, the rights in a context where that is. Each change counts up a
//! revision there, which every server looks at, so that a token that was revoked ends on every open connection.
#![deny(unsafe_code)]

mod authority;
mod contexts;
mod error;
mod follow;
mod login;
mod nonce;
mod pace;
mod permission;
mod reading;
mod secret;
mod wallet;
mod watch;

pub use authority::{Authority, NewToken};
pub use contexts::ContextSpec;
pub use error::Error;
pub use login::Login;
pub use permission::{Allowed, Concern, Lasting, Permission, allowed, lacking};
pub use secret::{InvalidTokenKey, TokenKey, TokenSecret};
pub use watch::Watch;

pub use hero_store::IdentityChange;
