use std::time::Duration;

use serde_json::json;

use super::error::Error;
use super::wire::{Params, Wire};
use hero_model::api::LoggedIn;
use hero_model::{PrivateKey, excerpt};

/// Logs in on a connection to `host`, and waits for each answer for at most `answer`.
pub(super) async fn log_in(wire: &Wire, host: &str, key: &PrivateKey, answer: Duration) -> Result<LoggedIn, Error> {
    let pubkey = key.public_key();
    let nonce: String = wire.call("fetch_nonce", Params::of("fetch_nonce", json!({ "pubkey": pubkey }))?, answer).await?;
    let named = nonce.strip_prefix("hero:").and_then(|rest| rest.rsplitn(3, ':').nth(2)).unwrap_or_default();
    if !named.eq_ignore_ascii_case(host) {
        return Err(Error::OtherServer { named: excerpt(&nonce, 128).into_owned(), meant: host.to_owned() });
    }
    let params = json!({ "pubkey": pubkey, "signature": key.sign(&nonce), "nonce": nonce });
    wire.call("authenticate", Params::of("authenticate", params)?, answer).await
}
