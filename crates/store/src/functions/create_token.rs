use super::unexpected;
use crate::Error;
use crate::access::StoredToken;
use crate::codec::json;
use crate::fcall::Function;
use crate::views::Access;

const FUNCTION: Function = Function("create_token");

/// What came of a token that was to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCreated {
    /// It is stored.
    Stored,
    /// There is no such identity, or another program wrote it and it is refused. Nothing was done.
    Missing,
    /// Another token has its id. Nothing was done.
    Taken,
    /// The token by which it was to be made is gone. Nothing was done.
    Over,
    /// The identity has as many as it may. Nothing was done.
    Full,
}

impl Access<'_> {
    /// Stores a token of an identity. Those of it that are over make room.
    pub async fn create_token(self, token: &StoredToken) -> Result<TokenCreated, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(token.token.identity_id.0).arg(token.token.token_id.as_str()).arg(json(token));
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "stored" => Ok(TokenCreated::Stored),
            "missing" => Ok(TokenCreated::Missing),
            "taken" => Ok(TokenCreated::Taken),
            "over" => Ok(TokenCreated::Over),
            "full" => Ok(TokenCreated::Full),
            reply => Err(unexpected("create_token", &reply)),
        }
    }
}
