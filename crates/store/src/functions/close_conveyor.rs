use super::unexpected;
use crate::library::fcall::Function;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Error, Relative};
use hero_model::JobId;

const FUNCTION: Function = Function("close_conveyor");

/// The end of a conveyor job, with the relatives that it affects.
#[derive(Debug, Clone)]
pub struct Close<'a> {
    /// The entry of the end.
    pub entry: &'a str,
    /// The job.
    pub id: &'a JobId,
    /// Whether it finished; otherwise it failed for good.
    pub finished: bool,
    /// The id of its parent, or an empty text.
    pub parent: &'a str,
    /// The job with the reason of its failure.
    pub failed: Option<Vec<u8>>,
    /// The next of its children.
    pub children: Vec<Relative>,
    /// The next of its continuations.
    pub continuations: Vec<Relative>,
}

/// The progress of a conveyor job towards its close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It runs again, and ends later.
    Runs,
    /// It has more relatives than the call named.
    More,
    /// It waits for its children.
    Waits,
    /// It is closed: its continuations are queued, and its parent may close.
    Closed,
}

impl Conveyor<'_> {
    /// Queues the children of an ended job, or ends them with it, and closes the job once all its descendants are closed.
    ///
    /// The call can be repeated safely: a relative is moved only if it is still in its list.
    pub async fn close(self, keys: &ConveyorKeys, close: &Close<'_>) -> Result<Closed, Error> {
        let due = |relative: &Relative| relative.due.map(|due| due.to_string()).unwrap_or_default();
        let mut call = self.0.call(&FUNCTION);
        call.arg(close.entry).arg(keys.prefix()).arg(close.id.as_str());
        call.arg(if close.finished { "finished" } else { "error" }).arg(close.parent);
        call.arg(close.failed.as_deref().unwrap_or_default()).arg(close.children.len());
        for child in &close.children {
            call.arg(&child.bytes).arg(child.uuid.as_deref().unwrap_or_default()).arg(child.queue.as_deref().unwrap_or_default());
            call.arg(due(child)).arg(&child.failed);
        }
        for continuation in &close.continuations {
            call.arg(&continuation.bytes).arg(continuation.queue.as_deref().unwrap_or_default()).arg(due(continuation));
        }
        let answer: String = self.0.commands.function(&call).await?;
        Ok(match answer.as_str() {
            "runs" => Closed::Runs,
            "more" => Closed::More,
            "waits" => Closed::Waits,
            "closed" => Closed::Closed,
            _ => return Err(unexpected("close_conveyor", &answer)),
        })
    }
}
