use crate::Error;
use crate::library::fcall::Function;
use crate::views::Runners;
use hero_model::RunnerId;

const FUNCTION: Function = Function("delete_runner");

impl Runners<'_> {
    /// Deletes a runner. Returns whether it existed.
    pub async fn delete(self, id: RunnerId) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.0);
        self.0.commands.function(&call).await
    }
}
