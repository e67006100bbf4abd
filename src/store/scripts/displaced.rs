use std::sync::LazyLock;

use crate::store::connection::Script;
use crate::store::{Error, PRESENCE, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("displaced.lua")));

impl Store {
    /// Says that this server lives although its actors have lost their posts to others, so that nobody takes its jobs.
    pub async fn say_displaced(&self) -> Result<(), Error> {
        let mut call = self.0.call(&SCRIPT);
        call.arg(self.keys().displaced(self.server().as_str())).arg(PRESENCE.as_secs());
        let _: String = self.0.commands.script(&SCRIPT, &call).await?;
        Ok(())
    }
}
