//! Login by a signature, for browsers and wallets.

mod authenticate;
mod fetch_nonce;
mod present_token;

pub use authenticate::Authenticate;
pub use fetch_nonce::FetchNonce;
pub use present_token::{PresentToken, Presented};

use crate::auth::Session;
use crate::error::Error;

/// The name by which the server was reached, which stands in nonces: so one cannot be passed on by another server, which has another name.
fn host(session: &Session) -> Result<String, Error> {
    const UNKNOWN: &str = "the server does not know the name and port by which you reach it as its own, so a login could be passed on by somebody else there; \
                           name both in allowed_hosts";
    session.host().ok_or(Error::Denied(UNKNOWN.into()))
}
