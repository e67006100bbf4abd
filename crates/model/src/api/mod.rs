//! The part of the API that servers and clients share: methods, errors, close codes, and types that only the API uses.

mod code;
mod login;
mod notice;
mod operation;
mod repeatable;

pub use code::Code;
pub use login::{LoggedIn, NewToken, Presented, Who};
pub use notice::{Began, Ended, EventNotice, FlowNotice, Lagged, LogNotice, SubscriptionItem};
pub use operation::{Draining, ScriptCheck};
pub use repeatable::Repeatable;

/// The close code for a server that shuts down. Pending messages are written before it.
pub const GOING_AWAY: u16 = 1001;
/// The close code and reason for a connection whose token has ended. The code means a policy violation (RFC 6455).
pub const LOGGED_OUT: (u16, &str) = (1008, "the token was revoked or has expired");
