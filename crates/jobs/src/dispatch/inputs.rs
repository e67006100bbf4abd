use super::Error;
use super::views::JobCalls;
use hero_model::{ContextId, Input, JobId};

/// Maximum number of bytes of the outputs of all prerequisites together.
const MOST_BYTES: usize = 4 << 20;
/// The labels of a job of a schedule: the id of the schedule, and the time of the occurrence, which scripts read as
/// SLOT.
const SCHEDULE: &str = "schedule";
const SLOT: &str = "slot";

impl JobCalls<'_> {
    /// Returns the outputs of a job's prerequisites, in their order. Fails if one of them is gone, because a result
    /// without it would be wrong.
    pub async fn inputs(self, context: ContextId, id: &JobId) -> Result<Vec<Input>, Error> {
        let store = self.0.contexts().store(context).await?;
        // One that came by a message has them with it.
        if let Some(inputs) = store.messages().far_inputs(id).await.map_err(Error::of_job(id))? {
            return Ok(inputs);
        }
        let job = store.jobs().get(id).await.map_err(Error::of_job(id))?.ok_or_else(|| Error::NotFound(id.clone()))?;
        let size = store.jobs().output_sizes(&job.prerequisites).await.map_err(Error::of_job(id))?.iter().sum();
        if size > MOST_BYTES {
            return Err(Error::TooLarge { what: "what the prerequisites gave", size, limit: MOST_BYTES, setting: "a fixed limit" });
        }
        let outputs = store.jobs().outputs(&job.prerequisites).await.map_err(Error::of_job(id))?;
        let of = |(id, output): (&JobId, Option<Input>)| output.ok_or_else(|| Error::NotFound(id.clone()));
        job.prerequisites.iter().zip(outputs).map(of).collect()
    }

    /// Returns the time at which a job of a schedule was due, from its label. Returns `None` for other jobs.
    pub async fn occurrence(self, context: ContextId, id: &JobId) -> Result<Option<String>, Error> {
        let mut labels = self.part(context, id, &["labels"], usize::MAX).await?.labels;
        Ok(labels.remove(SLOT).filter(|_| labels.contains_key(SCHEDULE)))
    }
}
