//! What both ends of the wire know of the API: its methods and errors, how a connection ends, and what is made for it alone.

mod code;
mod login;
mod method;
mod notice;

pub use code::Code;
pub use login::{LoggedIn, NewToken, Who};
pub use method::{Effect, METHODS, Repeatable};
pub use notice::{Began, Ended, EventNotice, FlowNotice, Heard, Lagged, LogNotice};

/// The close code for a server that shuts down. Messages that wait are written before it.
pub const GOING_AWAY: u16 = 1001;
/// What is said when a connection is closed because its token has ended: the code is that of a policy that is violated (RFC 6455).
pub const LOGGED_OUT: (u16, &str) = (1008, "the token was revoked or has expired");
