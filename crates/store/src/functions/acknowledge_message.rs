use super::unexpected;
use crate::Error;
use crate::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("acknowledge_message");

/// What became of a message that its owner acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageAcknowledged {
    /// Its owner has it.
    Done,
    /// There is none.
    Missing,
    /// It is to go out. Nothing was done.
    GoesOut,
}

impl Messages<'_> {
    /// Notes that the owner of a message that came has it.
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
