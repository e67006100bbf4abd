use super::receive_message::{RunnerJob, add_jobs};
use crate::model::MessageKey;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("make_runner_jobs");

impl Store {
    /// Makes the jobs of a message that another program put into `msg_in`, or says what is wrong with it, and takes it out of there. Says
    /// whether it was there, and so many jobs may be made now.
    pub async fn make_runner_jobs(&self, message: MessageKey, jobs: &Result<Vec<RunnerJob>, String>) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(self.0.bounds.queue_length()).arg(self.0.bounds.jobs_per_second()).arg(message.to_string());
        let (wrong, jobs) = match jobs {
            Ok(jobs) => ("", jobs.as_slice()),
            Err(wrong) => (wrong.as_str(), &[][..]),
        };
        call.arg(wrong);
        add_jobs(&mut call, jobs);
        self.0.commands.function(&call).await
    }
}
