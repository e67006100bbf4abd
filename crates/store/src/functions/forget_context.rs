use crate::Error;
use crate::library::fcall::Function;
use crate::views::Contexts;
use hero_model::ContextId;

const FUNCTION: Function = Function("forget_context");

impl Contexts<'_> {
    /// Removes a deleted context from the list of existing contexts. Call it on the store of context 0.
    pub async fn forget(self, context: ContextId) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(context.0);
        self.0.commands.function::<i64>(&call).await.map(drop)
    }
}
