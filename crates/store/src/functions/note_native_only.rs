use crate::fcall::Function;
use crate::{Error, Store};

const FUNCTION: Function = Function("note_native_only");

/// Without a server that looks, every script type counts as one that foreign actors take, after so many seconds.
const LASTS: u32 = 300;

impl Store {
    /// Notes which script types are native only, so that no foreign actor takes them: these, but for those with a sign of one in the last hour.
    pub(crate) async fn note_native_only(&self, script_types: &[&str]) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(LASTS).arg(script_types);
        self.0.commands.function::<usize>(&call).await.map(drop)
    }
}
