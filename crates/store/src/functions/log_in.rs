use super::unexpected;
use crate::Error;
use crate::access::StoredToken;
use crate::library::fcall::Function;
use crate::value::json;
use crate::views::Access;
use hero_model::{PublicKey, Timestamp};

const FUNCTION: Function = Function("log_in");

/// The result of a login by a nonce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStored {
    /// Its token is stored, and the nonce is used.
    Stored,
    /// The identity is gone, or has another public key. Nothing was done.
    Missing,
    /// The nonce has expired. Nothing was done.
    Over,
    /// The nonce was used before. Nothing was done.
    Used,
    /// Another token has the id. Nothing was done.
    Taken,
}

impl Access<'_> {
    /// Uses a nonce, which is valid until `end`, and stores the token of a login. If the identity has 50 logins, the one that ends first is
    /// deleted.
    pub async fn log_in(self, key: &PublicKey, nonce: &str, end: Timestamp, token: &StoredToken) -> Result<LoginStored, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(token.token.identity_id.0).arg(key.as_str()).arg(nonce).arg(end.as_millis());
        call.arg(token.token.token_id.as_str()).arg(json(token));
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "stored" => Ok(LoginStored::Stored),
            "missing" => Ok(LoginStored::Missing),
            "over" => Ok(LoginStored::Over),
            "used" => Ok(LoginStored::Used),
            "taken" => Ok(LoginStored::Taken),
            reply => Err(unexpected("log_in", &reply)),
        }
    }
}
