use std::sync::LazyLock;

use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("note.lua")));

/// How many keys one call looks at.
const CHUNK: usize = 1000;

impl Store {
    /// Has keys in a set of ours, also while Redis is full. What an outsider made of the set gives way.
    pub(in crate::store) async fn note<Key: AsRef<str>>(&self, set: &str, keys: &[Key]) -> Result<(), Error> {
        for keys in keys.chunks(CHUNK) {
            let mut call = self.0.call(&SCRIPT);
            call.arg(set);
            for key in keys {
                call.arg(key.as_ref());
            }
            self.0.commands.script::<u64>(&SCRIPT, &call).await?;
        }
        Ok(())
    }
}
