use crate::fcall::Function;
use crate::{Error, Store};
use hero_model::RunnerId;

const FUNCTION: Function = Function("delete_runner");

impl Store {
    /// Deletes a runner. Says whether there was one.
    pub async fn delete_runner(&self, id: RunnerId) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.0);
        self.0.commands.function(&call).await
    }
}
