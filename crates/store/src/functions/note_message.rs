use crate::Error;
use crate::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("note_message");

impl Messages<'_> {
    /// Notes in the log of a message why it has not arrived yet. Says whether there is that message.
    pub async fn note(self, message: MessageKey, why: &str) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(message.to_string()).arg(why);
        self.0.commands.function(&call).await
    }
}
