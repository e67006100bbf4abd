use crate::library::fcall::Function;
use crate::views::Actors;
use crate::{Error, PRESENCE};

const FUNCTION: Function = Function("note_displaced");

impl Actors<'_> {
    /// Records that this server lives although its actors have lost their registrations to others, so that its jobs are not taken from it.
    pub async fn note_displaced(self) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.keys.displaced(self.0.server.as_str())).arg(PRESENCE.as_secs());
        let _: String = self.0.commands.function(&call).await?;
        Ok(())
    }
}
