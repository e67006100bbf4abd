use std::time::Duration;

use super::calls::{Authenticate, FetchNonce};
use super::error::Error;
use super::wire::Wire;
use hero_model::api::LoggedIn;
use hero_model::{PrivateKey, excerpt};

/// Logs in on a connection to `host`, and waits for each answer for at most `answer`.
pub(super) async fn log_in(wire: &Wire, host: &str, key: &PrivateKey, answer: Duration) -> Result<LoggedIn, Error> {
    let pubkey = &key.public_key();
    let nonce = wire.ask(&FetchNonce { pubkey }, answer).await?;
    let named = nonce.strip_prefix("hero:").and_then(|rest| rest.rsplitn(3, ':').nth(2)).unwrap_or_default();
    if !named.eq_ignore_ascii_case(host) {
        return Err(Error::OtherServer { named: excerpt(&nonce, 128).into_owned(), meant: host.to_owned() });
    }
    wire.ask(&Authenticate { pubkey, signature: &key.sign(&nonce), nonce: &nonce }, answer).await
}
