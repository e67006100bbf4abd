use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("acknowledge_message");

/// The result of acknowledging a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageAcknowledged {
    /// The message is acknowledged.
    Done,
    /// No such message exists.
    Missing,
    /// The message is an outgoing one. Nothing was done.
    GoesOut,
}

impl Messages<'_> {
    /// Records that the owner of an incoming message has it.
    pub async fn acknowledge(self, message: MessageKey) -> Result<MessageAcknowledged, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(message.to_string());
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "done" => Ok(MessageAcknowledged::Done),
            "missing" => Ok(MessageAcknowledged::Missing),
            "out" => Ok(MessageAcknowledged::GoesOut),
            reply => Err(unexpected("acknowledge_message", &reply)),
        }
    }
}
