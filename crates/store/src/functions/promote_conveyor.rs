use crate::library::fcall::Function;
use crate::views::Conveyor;
use crate::{ConveyorKeys, Error};

const FUNCTION: Function = Function("promote_conveyor");

/// A scheduled element whose time has come.
#[derive(Debug, Clone)]
pub struct Due {
    /// The element itself.
    pub bytes: Vec<u8>,
    /// The name of its queue; none if it is no job.
    pub queue: Option<String>,
}

impl Conveyor<'_> {
    /// Moves due elements to their queues and returns their number. Each moves once, even if several servers try.
    ///
    /// An element that is no job is set aside. An element that cannot be moved is tried again a minute later.
    pub async fn promote(self, keys: &ConveyorKeys, due: &[Due]) -> Result<usize, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(keys.prefix());
        for element in due {
            call.arg(&element.bytes).arg(element.queue.as_deref().unwrap_or_default());
        }
        let answers: Vec<String> = self.0.commands.function(&call).await?;
        for answer in answers.iter().filter(|answer| matches!(answer.as_str(), "failed" | "later")) {
            tracing::warn!(
                scheduled = keys.scheduled(),
                failed = keys.failed(),
                outcome = answer,
                "a scheduled element is no job of the conveyor layout, or its queue is no list"
            );
        }
        Ok(answers.iter().filter(|answer| *answer == "moved").count())
    }
}
