use crate::fcall::Function;
use crate::{Error, Inner};

const FUNCTION: Function = Function("forget_keys");

/// How many keys one call looks at.
const CHUNK: usize = 128;

impl Inner {
    /// Takes keys out of a set that do not exist, and says how many. What comes at the same time stays.
    pub(crate) async fn forget_keys(&self, set: &str, keys: &[String]) -> Result<usize, Error> {
        let mut gone = 0;
        for keys in keys.chunks(CHUNK) {
            let mut call = self.call(&FUNCTION);
            call.arg(set).arg(keys);
            gone += self.commands.function::<usize>(&call).await?;
        }
        Ok(gone)
    }
}
