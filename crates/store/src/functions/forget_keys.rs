use crate::library::fcall::Function;
use crate::{Error, Inner};

const FUNCTION: Function = Function("forget_keys");

/// The number of keys that one call checks.
const KEYS_PER_CALL: usize = 128;

impl Inner {
    /// Removes keys that do not exist from a set, and returns their number. Keys that are created at the same time stay.
    pub(crate) async fn forget_keys(&self, set: &str, keys: &[String]) -> Result<usize, Error> {
        let mut gone = 0;
        for keys in keys.chunks(KEYS_PER_CALL) {
            let mut call = self.call(&FUNCTION);
            call.arg(set).arg(keys);
            gone += self.commands.function::<usize>(&call).await?;
        }
        Ok(gone)
    }
}
