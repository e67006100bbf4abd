use serde::Serialize;

use crate::Error;
use crate::library::fcall::Function;
use crate::views::Contexts;

const FUNCTION: Function = Function("close_context");

/// The jobs of a context that have not ended, as far as they are listed, and its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OpenJobs {
    /// The jobs that run with actors of hero.
    pub running: u64,
    /// The jobs in queues, and those that run with other actors.
    pub queued: u64,
    /// The jobs that wait for their time, or to be started.
    pub scheduled: u64,
    /// The messages that wait to be sent, for their result, or for the other side to learn of a stop.
    pub messages: u64,
}

impl Contexts<'_> {
    /// Closes this context before its deletion, so that it takes nothing new. If it has open jobs or messages and `stop` is false, nothing
    /// is done, and their numbers are returned.
    pub async fn close(self, stop: bool) -> Result<Option<OpenJobs>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(if stop { "stop" } else { "idle" });
        let (closed, running, queued, scheduled, messages): (u8, u64, u64, u64, u64) = self.0.commands.function(&call).await?;
        Ok((closed == 0).then_some(OpenJobs { running, queued, scheduled, messages }))
    }
}
