use std::time::Duration;

use crate::Error;
use crate::library::fcall::Function;
use crate::views::Messages;
use hero_model::{ErrorKind, MessageKey, SignerKey};

const FUNCTION: Function = Function("settle_message");

/// The outcome of sending a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The other side has stored it, with the key that it said to have.
    Stored(Option<SignerKey>),
    /// It has not arrived, and will not. The message and the job that is away with it get this error.
    Failed(ErrorKind, String),
    /// No receipt came in time, although the message may have arrived. The message and the job that is away with it get this error.
    Over(String),
    /// It did not arrive, and is sent again after this time.
    Later(Duration),
}

impl Messages<'_> {
    /// Records the outcome of a message that a node was sending. Returns whether it was new.
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
