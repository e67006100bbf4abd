use crate::model::{ContextId, IdentityId};
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("note_access");

impl Store {
    /// Notes that rights have changed in a context, so that all servers look again: those of `identity`, if it had or has some, whose number is not given again then.
    /// For the store of context 0.
    pub async fn note_access(&self, identity: Option<IdentityId>, context: ContextId) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(identity.map(|identity| identity.to_string()).unwrap_or_default()).arg(context.0);
        self.0.commands.function::<i64>(&call).await.map(drop)
    }
}
