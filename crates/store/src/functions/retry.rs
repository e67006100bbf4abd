use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{JobId, Status};

const FUNCTION: Function = Function("retry");

/// The most relations that are followed at once; a retry with more waits in line.
const MAX_RELATIONS_AT_ONCE: u32 = 50;
/// The name under which all retries wait in line, because their callers are not known here.
const RETRIES: &str = "retry_job";

/// The result of retrying a job.
#[derive(Debug, Clone, PartialEq)]
pub enum Retried {
    /// The job is in its queue again, or waits for others.
    OnItsWay(Status),
    /// It has not ended.
    Illegal(Status),
    /// There is no such job.
    Missing,
    /// The queue is full, with this many jobs.
    Full(u64),
    /// The key of the queue is no list, because another program wrote there.
    NoList,
    /// The job would now wait for itself, because others that it waits for were made to wait for it.
    Cycle(Status),
    /// The job has too many relations to check whether it would wait for itself.
    Tangled,
    /// So many relations were followed lately that those of this job must wait.
    Busy,
    /// One of its prerequisites is in a group that is not decided yet.
    Later,
    /// This prerequisite of it is in error.
    Blocked(JobId),
}

impl Jobs<'_> {
    /// Runs a job again that has ended. Its attempts continue their count; its failures and crashes start from zero.
    pub async fn retry(self, job: &JobId) -> Result<Retried, Error> {
        let answer = self.try_retry(job, Some(MAX_RELATIONS_AT_ONCE)).await?;
        let more = answer.first().is_some_and(|word| word.0.as_deref() == Some("more"));
        let answer = if more { self.0.relation_budget.in_turn(RETRIES, self.try_retry(job, None)).await? } else { Some(answer) };
        let Some(answer) = answer else { return Ok(Retried::Busy) };
        let text = |at: usize| answer.get(at).and_then(|text| text.0.as_deref());
        let status = || Status::parse(text(1)).unwrap_or(Status::Started);
        match text(0) {
            Some("started") => {
                self.0.wake_ups.wake_all(answer.get(2).and_then(|text| text.0.as_ref()));
                Ok(Retried::OnItsWay(status()))
            }
            Some("illegal") => Ok(Retried::Illegal(status())),
            Some("missing") => Ok(Retried::Missing),
            Some("full") => Ok(text(1).and_then(|length| length.parse().ok()).map_or(Retried::NoList, Retried::Full)),
            Some("later") => Ok(Retried::Later),
            Some("tangled") => Ok(Retried::Tangled),
            Some("cycle") => Ok(Retried::Cycle(status())),
            Some("blocked") => text(1).and_then(|id| id.parse().ok()).map(Retried::Blocked).ok_or_else(|| unexpected("retry", &answer)),
            _ => Err(unexpected("retry", &answer)),
        }
    }

    async fn try_retry(self, job: &JobId, may_follow: Option<u32>) -> Result<Vec<Text>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str()).arg(self.0.bounds.queue_length()).arg(may_follow.map_or_else(String::new, |most| most.to_string()));
        let mut answer: Vec<Text> = self.0.commands.function(&call).await?;
        let followed = if answer.is_empty() { None } else { answer.remove(0).parse() };
        self.0.relation_budget.pay(followed.ok_or_else(|| unexpected("retry", &answer))?);
        Ok(answer)
    }
}
