use crate::Error;
use crate::library::fcall::Function;
use crate::value::Text;
use crate::views::Jobs;
use hero_model::{ErrorKind, JobEvent, JobId, Status};

const FUNCTION: Function = Function("current_state");

impl Jobs<'_> {
    /// Returns the current state of a job as an event. Following from its cursor neither misses nor repeats a change.
    pub async fn current_state(self, job: &JobId) -> Result<Option<JobEvent>, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(job.as_str());
        let answer: Vec<Text> = self.0.commands.function(&call).await?;
        let mut answer = answer.into_iter();
        let Some(cursor) = answer.next().and_then(Text::some) else { return Ok(None) };
        let mut next = || answer.next().unwrap_or_default();
        Ok(Some(JobEvent {
            cursor,
            job_id: job.clone(),
            context_id: self.0.keys.context(),
            status: Status::parse(next().0.as_deref()).unwrap_or(Status::Started),
            attempt: next().parse().unwrap_or(0),
            time: next().parse().unwrap_or_else(|| self.0.clock.now()),
            kind: next().some().map(|kind| ErrorKind::parse(Some(&kind), "")),
            progress: next().some().and_then(|text| serde_json::from_str(&text).ok()),
        }))
    }
}
