use std::sync::LazyLock;

use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("calm.lua")));

/// Without a server that looks, every script type counts as one that foreign actors take, after so many seconds.
const HOLDS: u32 = 300;

impl Store {
    /// Says which script types no foreign actor takes: these, but for those with a sign of one in the last hour.
    pub(in crate::store) async fn calm(&self, script_types: &[&str]) -> Result<(), Error> {
        let mut call = self.0.call(&SCRIPT);
        call.arg(HOLDS).arg(script_types);
        self.0.commands.script::<usize>(&SCRIPT, &call).await.map(drop)
    }
}
