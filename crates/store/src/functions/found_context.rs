use crate::Error;
use crate::fcall::Function;
use crate::views::Contexts;

const FUNCTION: Function = Function("found_context");

impl Contexts<'_> {
    /// Makes the hash of this context where there is none. Says whether it did.
    pub async fn found(self) -> Result<bool, Error> {
        let call = self.0.call(&FUNCTION);
        Ok(self.0.commands.function::<u8>(&call).await? == 1)
    }
}
