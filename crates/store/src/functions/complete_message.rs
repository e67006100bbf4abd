use crate::Error;
use crate::library::fcall::Function;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("complete_message");

impl Messages<'_> {
    /// Adds missing fields to the hash of a message. Returns whether the message exists: a deleted one does not come back.
    pub async fn complete(self, message: MessageKey, fields: &[(&str, &str)]) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(message.to_string());
        for (field, value) in fields {
            call.arg(*field).arg(*value);
        }
        self.0.commands.function(&call).await
    }
}
