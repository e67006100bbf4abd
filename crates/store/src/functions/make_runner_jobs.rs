use super::receive_message::{MadeJobs, RunnerJob, add_jobs};
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Messages;
use hero_model::MessageKey;

const FUNCTION: Function = Function("make_runner_jobs");

impl Messages<'_> {
    /// Creates the jobs of a message that another program put into `msg_in`, or records its error, and removes it from there. Returns its
    /// jobs; nothing if it was not there, or its queues have no room.
    pub async fn make_runner_jobs(self, message: MessageKey, jobs: &Result<Vec<RunnerJob>, String>) -> Result<Option<MadeJobs>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.look()).arg(self.0.bounds.queue_length()).arg(self.0.bounds.jobs_per_second()).arg(message.to_string());
        let (wrong, jobs) = match jobs {
            Ok(jobs) => ("", jobs.as_slice()),
            Err(wrong) => (wrong.as_str(), &[][..]),
        };
        call.arg(wrong);
        add_jobs(&mut call, jobs);
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let made = MadeJobs { message: message.to_string(), ..MadeJobs::of(&answer) };
        Ok((!answer.is_empty()).then_some(made))
    }
}
