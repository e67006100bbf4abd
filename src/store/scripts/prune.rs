use std::sync::LazyLock;

use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("prune.lua")));

/// How many ids one call looks at.
const CHUNK: usize = 256;

impl Store {
    /// Takes ids whose job is gone out of the index of an hour, looking at `CHUNK` ids behind the first `from`.
    ///
    /// Gives where to go on, or nothing at the end.
    pub async fn prune_index(&self, hour: &str, from: usize) -> Result<Option<usize>, Error> {
        let mut call = self.0.call(&SCRIPT);
        call.arg(self.0.keys.index_of_hour(hour)).arg(from).arg(CHUNK);
        let (looked, gone): (usize, usize) = self.0.commands.script(&SCRIPT, &call).await?;
        Ok((looked == CHUNK).then_some(from + looked - gone))
    }
}
