use crate::fcall::Function;
use crate::{Error, Inner};

const FUNCTION: Function = Function("note_keys");

/// How many keys one call looks at.
const CHUNK: usize = 1000;

impl Inner {
    /// Has keys in a set of ours, also while Redis is full. What a foreign program made of the set gives way.
    pub(crate) async fn note_keys<Key: AsRef<str>>(&self, set: &str, keys: &[Key]) -> Result<(), Error> {
        for keys in keys.chunks(CHUNK) {
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
