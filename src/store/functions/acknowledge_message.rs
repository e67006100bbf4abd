use crate::model::MessageKey;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("acknowledge_message");

impl Store {
    /// Notes that the owner of a message has it. Says whether there is such a message.
    pub async fn acknowledge_message(&self, message: MessageKey) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(message.to_string());
        self.0.commands.function(&call).await
    }
}
