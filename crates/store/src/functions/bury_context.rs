use crate::Error;
use crate::library::fcall::Function;
use crate::views::Contexts;

const FUNCTION: Function = Function("bury_context");

impl Contexts<'_> {
    /// Deletes the hash of this context, after all its other keys.
    pub async fn bury(self) -> Result<(), Error> {
        self.0.commands.function::<i64>(&self.0.call(&FUNCTION)).await.map(drop)
    }
}
