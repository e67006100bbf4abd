use crate::Error;
use crate::library::fcall::Function;
use crate::views::Access;

const FUNCTION: Function = Function("note_login");

impl Access<'_> {
    /// Records whether callers have to log in, for actors of other processes. Call it on the store of context 0.
    pub async fn note_login(self, login: bool) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(if login { "on" } else { "off" });
        self.0.commands.function::<i64>(&call).await.map(drop)
    }
}
