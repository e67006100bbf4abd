use crate::model::IdentityId;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("delete_identity");

impl Store {
    /// Deletes an identity with its tokens. Says whether there was such an identity.
    pub async fn delete_identity(&self, id: IdentityId) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.0);
        self.0.commands.function(&call).await
    }
}
