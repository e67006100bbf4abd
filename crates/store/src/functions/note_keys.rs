use crate::fcall::Function;
use crate::{Error, Store};

const FUNCTION: Function = Function("note_keys");

/// How many keys one call looks at.
const CHUNK: usize = 1000;

impl Store {
    /// Has keys in a set of ours, also while Redis is full. What a foreign program made of the set gives way.
    pub(crate) async fn note_keys<Key: AsRef<str>>(&self, set: &str, keys: &[Key]) -> Result<(), Error> {
        for keys in keys.chunks(CHUNK) {
            let mut call = self.0.call(&FUNCTION);
            call.arg(set);
            for key in keys {
                call.arg(key.as_ref());
            }
            self.0.commands.function::<u64>(&call).await?;
        }
        Ok(())
    }
}
