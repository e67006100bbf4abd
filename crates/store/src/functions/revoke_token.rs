use crate::Error;
use crate::library::fcall::Function;
use crate::views::Access;
use hero_model::TokenId;

const FUNCTION: Function = Function("revoke_token");

impl Access<'_> {
    /// Deletes a token. Returns whether it existed.
    pub async fn revoke_token(self, id: &TokenId) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.as_str());
        self.0.commands.function(&call).await
    }
}
