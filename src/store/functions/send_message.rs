use crate::store::codec::Text;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("send_message");

impl Store {
    /// Stores a message that is to go out, with these fields. Gives its number; nothing, if so many wait already that it was not stored.
    pub async fn send_message(&self, caller: u32, fields: &[(&str, String)]) -> Result<Option<u32>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(caller);
        for (field, value) in fields {
            call.arg(*field).arg(value);
        }
        let number: Text = self.0.commands.function(&call).await?;
        Ok(number.parse().filter(|number| *number > 0))
    }
}
