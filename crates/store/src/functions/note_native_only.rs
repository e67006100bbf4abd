use crate::library::fcall::Function;
use crate::{Error, Inner};

const FUNCTION: Function = Function("note_native_only");

/// Without a server that renews the record, every script type counts as taken by foreign actors after this many seconds.
const LIFETIME_SECONDS: u32 = 300;

impl Inner {
    /// Records which script types are native only, so that no foreign actor takes them: these, without those that showed a sign of one in
    /// the last hour.
    pub(crate) async fn note_native_only(&self, script_types: &[&str]) -> Result<(), Error> {
        let mut call = self.call(&FUNCTION);
        call.arg(LIFETIME_SECONDS).arg(script_types);
        self.commands.function::<usize>(&call).await.map(drop)
    }
}
