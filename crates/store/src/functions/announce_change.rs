use crate::Error;
use crate::library::fcall::Function;
use crate::views::Contexts;
use hero_model::ContextId;

const FUNCTION: Function = Function("announce_change");

/// The prefix of an announcement's field in the hash of access data.
pub(crate) const CHANGING: &str = "changing:";

impl Contexts<'_> {
    /// Announces a change of a context that is in another database. If the process is killed after the change but before it can record it,
    /// other servers still check the context. Returns the token for [`Self::forget_change`]. Call it on the store of context 0.
    pub async fn announce_change(self, context: ContextId) -> Result<String, Error> {
        let token = format!("{:016x}", rand::random::<u64>());
        self.announce(&token, &format!("{context} {}", self.0.clock.now().as_millis())).await?;
        Ok(token)
    }

    /// Deletes the announcement of a change that has been told, or was not made.
    pub async fn forget_change(self, token: &str) -> Result<(), Error> {
        self.announce(token, "").await
    }

    async fn announce(self, token: &str, text: &str) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(format!("{CHANGING}{token}")).arg(text);
        self.0.commands.function::<i64>(&call).await.map(drop)
    }
}
