use super::unexpected;
use crate::Error;
use crate::jobs::codec::JobView;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{JobId, Status};

const FUNCTION: Function = Function("delete");

/// The result of deleting a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Deleted {
    /// The job is deleted, with its log and reply.
    Deleted,
    /// The job runs.
    Illegal(Status),
    /// The job has ended, but some descendants have not, and other jobs wait for them.
    Open(Status),
    /// There is no such job.
    Missing,
}

impl Jobs<'_> {
    /// Deletes a job that does not run.
    pub async fn delete(self, job: &JobId) -> Result<Deleted, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str());
        let audience = self.0.inbox.audience();
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        match answer.first().and_then(|text| text.0.as_deref()) {
            Some("deleted") => {
                self.0.releases.notify_one();
                self.0.inbox.deliver(job, &JobView::Missing, audience);
                Ok(Deleted::Deleted)
            }
            Some("illegal") => Ok(Deleted::Illegal(Status::Started)),
            Some("open") => Ok(Deleted::Open(Status::parse(answer.get(1).and_then(|text| text.0.as_deref())).unwrap_or(Status::Finished))),
            Some("missing") => Ok(Deleted::Missing),
            _ => Err(unexpected("delete", &answer)),
        }
    }
}
