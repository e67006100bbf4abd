use crate::Error;
use crate::library::fcall::Function;
use crate::views::Contexts;

const FUNCTION: Function = Function("found_context");

impl Contexts<'_> {
    /// Creates the hash of this context if there is none. Returns whether it did.
    pub async fn found(self) -> Result<bool, Error> {
        let call = self.0.call(&FUNCTION);
        Ok(self.0.commands.function::<u8>(&call).await? == 1)
    }
}
