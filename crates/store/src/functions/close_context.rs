use serde::Serialize;

use crate::Error;
use crate::fcall::Function;
use crate::views::Contexts;

const FUNCTION: Function = Function("close_context");

/// The jobs of a context that have not ended, as far as they stand somewhere, and its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OpenJobs {
    /// Those that run with actors of hero.
    pub running: u64,
    /// Those that wait in queues, or run with other actors.
    pub queued: u64,
    /// Those that wait for their time, or for somebody to start them.
    pub scheduled: u64,
    /// The messages that wait to be sent, for their result, or for the other side to know of their stop.
    pub messages: u64,
}

impl Contexts<'_> {
    /// Has this context take nothing new, because it is to be deleted; unless it has jobs or messages, and is to `stop` for none. Then nothing is done, and they are
    /// given.
    pub async fn close(self, stop: bool) -> Result<Option<OpenJobs>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(if stop { "stop" } else { "idle" });
        let (closed, running, queued, scheduled, messages): (u8, u64, u64, u64, u64) = self.0.commands.function(&call).await?;
        Ok((closed == 0).then_some(OpenJobs { running, queued, scheduled, messages }))
    }
}
