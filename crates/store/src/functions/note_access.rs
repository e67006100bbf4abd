use crate::Error;
use crate::library::fcall::Function;
use crate::views::Access;
use hero_model::ContextId;

const FUNCTION: Function = Function("note_access");

impl Access<'_> {
    /// Records that rights have changed in a context, so that all servers read them again. Call it on the store of context 0.
    pub async fn note(self, context: ContextId) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(context.0);
        self.0.commands.function::<i64>(&call).await.map(drop)
    }
}
