use super::unexpected;
use crate::fcall::Function;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Error, Relative};
use hero_model::JobId;

const FUNCTION: Function = Function("close_conveyor");

/// What is to happen at the end of a conveyor job.
#[derive(Debug, Clone)]
pub struct Close<'a> {
    /// The entry that asks for it.
    pub entry: &'a str,
    /// The job.
    pub id: &'a JobId,
    /// Whether it finished; else it failed for good.
    pub finished: bool,
    /// The id of its parent, or nothing.
    pub parent: &'a str,
    /// The job with the reason of its failure.
    pub failed: Option<Vec<u8>>,
    /// The next of its children.
    pub children: Vec<Relative>,
    /// The next of its continuations.
    pub continuations: Vec<Relative>,
}

/// How far a conveyor job has come towards its close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// It runs again, and ends later.
    Runs,
    /// It has more relatives than were given.
    More,
    /// It waits for its children.
    Waits,
    /// It is closed: its continuations are on their way, and its parent may close.
    Closed,
}

impl Conveyor<'_> {
    /// Sends the children of an ended job on their way, or ends them with it; closes it once all its descendants are closed.
    ///
    /// Repeating it does no harm: a relative goes only if it still lies in its list.
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
