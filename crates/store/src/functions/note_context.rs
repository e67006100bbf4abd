use crate::fcall::Function;
use crate::{Error, Store};
use hero_model::ContextId;

const FUNCTION: Function = Function("note_context");

impl Store {
    /// Lists contexts that are not listed yet. For the store of context 0.
    pub async fn list_contexts(&self, contexts: &[ContextId]) -> Result<(), Error> {
        self.note_contexts("new", contexts).await
    }

    /// Lists contexts that are in a Redis of their own, which only settings know.
    pub async fn list_contexts_elsewhere(&self, contexts: &[ContextId]) -> Result<(), Error> {
        self.note_contexts("elsewhere", contexts).await
    }

    /// Notes that a context is there, or has changed, so that all servers read it again.
    pub async fn note_context(&self, context: ContextId) -> Result<(), Error> {
        self.note_contexts("changed", &[context]).await
    }

    async fn note_contexts(&self, what: &str, contexts: &[ContextId]) -> Result<(), Error> {
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
