use crate::fcall::Function;
use crate::{Error, Store};

const FUNCTION: Function = Function("bury_context");

impl Store {
    /// Deletes the hash of this context, of which nothing else is left.
    pub async fn bury_context(&self) -> Result<(), Error> {
        self.0.commands.function::<i64>(&self.0.call(&FUNCTION)).await.map(drop)
    }
}
