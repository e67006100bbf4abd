use std::sync::LazyLock;

use super::unexpected;
use crate::store::codec::Text;
use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("page.lua")));

impl Store {
    /// At most so many ids of the index of an hour that stand before a place, the oldest first, and the place of the first.
    pub(in crate::store) async fn index_page(&self, hour: &str, end: usize, limit: usize) -> Result<(usize, Vec<Text>), Error> {
        let mut call = self.0.call(&SCRIPT);
        // No list is longer; Lua would lose digits of a larger number.
        call.arg(self.0.keys.index_of_hour(hour)).arg(end.min(1 << 52)).arg(limit);
        let mut answer: Vec<Text> = self.0.commands.script(&SCRIPT, &call).await?;
        let start = answer.first().and_then(Text::parse).ok_or_else(|| unexpected("page", &answer.len()))?;
        answer.remove(0);
        Ok((start, answer))
    }
}
