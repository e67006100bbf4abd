use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::views::Queues;
use hero_model::Queue;

const FUNCTION: Function = Function("pause");

/// The most queues of a context that may be paused at once.
const MOST_PAUSED: usize = 10_000;

/// The result of pausing a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pausing {
    /// The queue is paused.
    Paused,
    /// This many queues are paused already, so this one was not.
    Many(usize),
}

impl Queues<'_> {
    /// Pauses the queues of a type and target, in all priorities. Running jobs go on, and new ones wait.
    pub async fn pause(self, queue: &Queue) -> Result<Pausing, Error> {
        match self.pause_or_resume(queue, "pause").await?.as_str() {
            "done" => Ok(Pausing::Paused),
            "many" => Ok(Pausing::Many(MOST_PAUSED)),
            reply => Err(unexpected("pause", &reply)),
        }
    }

    /// Resumes queues at once, and returns whether they were paused.
    pub async fn resume(self, queue: &Queue) -> Result<bool, Error> {
        let resumed = match self.pause_or_resume(queue, "resume").await?.as_str() {
            "done" => true,
            "served" => false,
            reply => return Err(unexpected("pause", &reply)),
        };
        self.0.wake_ups.wake(&queue.script_type);
        Ok(resumed)
    }

    async fn pause_or_resume(self, queue: &Queue, verb: &str) -> Result<String, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.base(queue)).arg(queue.script_type.as_str()).arg(verb).arg(MOST_PAUSED);
        self.0.commands.function(&call).await
    }
}
