use crate::Error;
use crate::library::fcall::Function;
use crate::views::Contexts;
use hero_model::ContextId;

const FUNCTION: Function = Function("note_context");

impl Contexts<'_> {
    /// Lists contexts that are not listed yet. Call it on the store of context 0.
    pub async fn note_new(self, contexts: &[ContextId]) -> Result<(), Error> {
        self.note_all("new", contexts).await
    }

    /// Lists contexts in a Redis of their own, which only settings name.
    pub async fn note_elsewhere(self, contexts: &[ContextId]) -> Result<(), Error> {
        self.note_all("elsewhere", contexts).await
    }

    /// Records that a context exists, or has changed, so that all servers read it again.
    pub async fn note(self, context: ContextId) -> Result<(), Error> {
        self.note_all("changed", &[context]).await
    }

    async fn note_all(self, what: &str, contexts: &[ContextId]) -> Result<(), Error> {
        if contexts.is_empty() {
            return Ok(());
        }
        let mut call = self.0.call(&FUNCTION);
        call.arg(what);
        for context in contexts {
            call.arg(context.0);
        }
        self.0.commands.function::<i64>(&call).await.map(drop)
    }
}
