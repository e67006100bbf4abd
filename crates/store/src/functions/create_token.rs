use super::unexpected;
use crate::Error;
use crate::access::StoredToken;
use crate::library::fcall::Function;
use crate::value::json;
use crate::views::Access;

const FUNCTION: Function = Function("create_token");

/// The result of creating a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenCreated {
    /// It is stored.
    Stored,
    /// The identity does not exist, or another program wrote it and hero refuses it. Nothing was done.
    Missing,
    /// Another token has its id. Nothing was done.
    Taken,
    /// The token that should create it is gone. Nothing was done.
    Over,
    /// The identity has the most allowed number of tokens. Nothing was done.
    Full,
}

impl Access<'_> {
    /// Stores a token of an identity. Its expired tokens make room.
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
