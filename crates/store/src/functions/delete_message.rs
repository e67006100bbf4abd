use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("delete_message");

/// The result of deleting a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageDeleted {
    /// It is deleted.
    Deleted,
    /// It did not exist.
    Missing,
    /// Its result is still awaited. Nothing was done.
    Open,
    /// The other side does not know yet that the job was stopped. Nothing was done.
    Untold,
    /// The results of its own jobs are still awaited. Nothing was done.
    Unanswered,
}

impl Messages<'_> {
    /// Deletes a message whose result is not awaited.
    pub async fn delete(self, message: MessageKey) -> Result<MessageDeleted, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(message.to_string());
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "deleted" => Ok(MessageDeleted::Deleted),
            "missing" => Ok(MessageDeleted::Missing),
            "open" => Ok(MessageDeleted::Open),
            "untold" => Ok(MessageDeleted::Untold),
            "unanswered" => Ok(MessageDeleted::Unanswered),
            reply => Err(unexpected("delete_message", &reply)),
        }
    }
}
