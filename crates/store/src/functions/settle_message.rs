use std::time::Duration;

use crate::Error;
use crate::fcall::Function;
use crate::views::Messages;
use hero_model::{ErrorKind, MessageKey, SignerKey};

const FUNCTION: Function = Function("settle_message");

/// What became of a message that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The other side has stored it; whose key it said to have.
    Stored(Option<SignerKey>),
    /// It has not arrived, and will not: what is said of it, and of the job that is away with it.
    Failed(ErrorKind, String),
    /// Nobody has said in time that it has arrived, which it may have: what is said of it, and of the job that is away with it.
    Over(String),
    /// It did not arrive, and is sent again after so long.
    Later(Duration),
}

impl Messages<'_> {
    /// Records what became of a message that a node has in hand. Says whether that was news.
    pub async fn settle(self, node: &str, message: MessageKey, settled: &Settled) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(node).arg(message.to_string());
        match settled {
            Settled::Stored(key) => call.arg("acknowledged").arg("").arg(key.as_ref().map_or("", SignerKey::as_str)),
            Settled::Failed(kind, text) => call.arg("error").arg(kind.as_str()).arg(text),
            Settled::Over(text) => call.arg("over").arg(ErrorKind::Unavailable.as_str()).arg(text),
            Settled::Later(rest) => call.arg("later").arg("").arg(u64::try_from(rest.as_millis()).unwrap_or(u64::MAX)),
        };
        self.0.commands.function(&call).await
    }
}
