use crate::fcall::Function;
use crate::{Error, Inner};

const FUNCTION: Function = Function("note_native_only");

/// Without a server that looks, every script type counts as one that foreign actors take, after so many seconds.
const LASTS: u32 = 300;

impl Inner {
    /// Notes which script types are native only, so that no foreign actor takes them: these, but for those with a sign of one in the last hour.
    pub(crate) async fn note_native_only(&self, script_types: &[&str]) -> Result<(), Error> {
        let mut call = self.call(&FUNCTION);
        call.arg(LASTS).arg(script_types);
        self.commands.function::<usize>(&call).await.map(drop)
    }
}
