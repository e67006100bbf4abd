use crate::Error;
use crate::library::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("note_message");

impl Messages<'_> {
    /// Logs in a message why it has not arrived yet. Returns whether the message exists.
    pub async fn note(self, message: MessageKey, why: &str) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(message.to_string()).arg(why);
        self.0.commands.function(&call).await
    }
}
