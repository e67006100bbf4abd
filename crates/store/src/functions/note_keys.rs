use crate::library::fcall::Function;
use crate::{Error, Inner};

const FUNCTION: Function = Function("note_keys");

/// The number of keys that one call adds.
const KEYS_PER_CALL: usize = 1000;

impl Inner {
    /// Adds keys to a set of hero, even while Redis is full. If a foreign program has changed the type of the set, it is replaced.
    pub(crate) async fn note_keys<Key: AsRef<str>>(&self, set: &str, keys: &[Key]) -> Result<(), Error> {
        for keys in keys.chunks(KEYS_PER_CALL) {
            let mut call = self.call(&FUNCTION);
            call.arg(set);
            for key in keys {
                call.arg(key.as_ref());
            }
            self.commands.function::<u64>(&call).await?;
        }
        Ok(())
    }
}
