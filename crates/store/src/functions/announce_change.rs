use crate::Error;
use crate::fcall::Function;
use crate::views::Contexts;
use hero_model::ContextId;

const FUNCTION: Function = Function("announce_change");

/// What stands before the name of an announcement, in the hash of what is known of access.
pub(crate) const CHANGING: &str = "changing:";

impl Contexts<'_> {
    /// Notes that a context is about to be changed, which is in another database: should whoever does it be killed before it can note that it has, others
    /// look all the same. Gives by what this is forgotten. For the store of context 0.
    pub async fn announce_change(self, context: ContextId) -> Result<String, Error> {
        let token = format!("{:016x}", rand::random::<u64>());
        self.announce(&token, &format!("{context} {}", self.0.clock.now().as_millis())).await?;
        Ok(token)
    }

    /// Notes that a change is told that was announced, or was not made.
    pub async fn forget_change(self, token: &str) -> Result<(), Error> {
        self.announce(token, "").await
    }

    async fn announce(self, token: &str, text: &str) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(format!("{CHANGING}{token}")).arg(text);
        self.0.commands.function::<i64>(&call).await.map(drop)
    }
}
