//! Login by a signature, for browsers and wallets.

mod authenticate;
mod fetch_nonce;
mod present_token;

pub use authenticate::Authenticate;
pub use fetch_nonce::FetchNonce;
pub use present_token::PresentToken;

use crate::error::Error;
use crate::session::auth::Session;

/// Returns the name by which the client reached the server. Nonces contain it, so that another server with another name cannot relay one.
fn host(session: &Session) -> Result<String, Error> {
    const UNKNOWN: &str = "the server does not know the name and port by which you reach it as its own, so a login could be passed on by somebody else there; \
                           name both in allowed_hosts";
    session.host().ok_or(Error::Denied(UNKNOWN.into()))
}
