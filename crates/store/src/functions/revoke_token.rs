use crate::Error;
use crate::fcall::Function;
use crate::views::Access;
use hero_model::TokenId;

const FUNCTION: Function = Function("revoke_token");

impl Access<'_> {
    /// Forgets a token. Says whether there was such a token.
    pub async fn revoke_token(self, id: &TokenId) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.as_str());
        self.0.commands.function(&call).await
    }
}
