use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("note_access");

impl Store {
    /// Notes that rights have changed in some context, so that all servers look again. For the store of context 0.
    pub async fn note_access(&self) -> Result<(), Error> {
        self.0.commands.function::<i64>(&self.0.call(&FUNCTION)).await.map(drop)
    }
}
