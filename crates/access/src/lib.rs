#![doc = include_str!("../README.md")]
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
pub use watch::RightsWatch;

pub use hero_store::IdentityChange;
