use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{JobId, Status};

const FUNCTION: Function = Function("stop");

/// The result of a stop request.
#[derive(Debug, Clone, PartialEq)]
pub enum Stopping {
    /// The job had not started, and has ended now.
    Stopped,
    /// The actor that runs the job was asked to stop it.
    Asked,
    /// The job had ended before.
    Ended(Status),
    /// There is no such job.
    Missing,
}

impl Jobs<'_> {
    /// Stops a job that has not ended. Waiters of this server are notified.
    pub async fn stop(self, job: &JobId) -> Result<Stopping, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str());
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        match text(0) {
            Some("stopped") => {
                self.0.releases.notify_one();
                self.tell_by_reading(job.clone());
                Ok(Stopping::Stopped)
            }
            Some("asked") => {
                if text(2) == Some(self.0.server.as_str()) {
                    self.0.inbox.stop(job.clone());
                }
                Ok(Stopping::Asked)
            }
            Some("ended") => Ok(Stopping::Ended(Status::parse(text(1)).unwrap_or(Status::Error))),
            Some("missing") => Ok(Stopping::Missing),
            _ => Err(unexpected("stop", &answer)),
        }
    }
}
