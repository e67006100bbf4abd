use std::sync::LazyLock;

use crate::store::connection::Script;
use crate::store::{Error, Post, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("leave.lua")));

impl Store {
    /// Leaves a post, if this incarnation holds it.
    pub async fn leave(&self, post: &Post, incarnation: &str) -> Result<(), Error> {
        let mut call = self.0.call(&SCRIPT);
        call.arg(self.keys().presence(&post.script_type, &post.group, post.instance)).arg(self.keys().actors()).arg(incarnation);
        self.0.commands.script(&SCRIPT, &call).await
    }
}
