use crate::fcall::Function;
use crate::{Error, Post, Store};

const FUNCTION: Function = Function("release_post");

impl Store {
    /// Releases a post, if this incarnation holds it.
    pub async fn release_post(&self, post: &Post, incarnation: &str) -> Result<(), Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.keys().presence(&post.script_type, &post.group, post.instance)).arg(self.keys().actors()).arg(incarnation);
        self.0.commands.function(&call).await
    }
}
