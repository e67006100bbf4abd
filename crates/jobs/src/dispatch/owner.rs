use super::Error;
use super::views::{JobCalls, ScheduleCalls};
use hero_model::{ContextId, FlowId, JobId, ScheduleId};

impl JobCalls<'_> {
    /// Returns the callers that created these jobs, however their ids are spelled; `None` for jobs that do not exist.
    /// An empty text is an anonymous caller.
    pub async fn owners(self, context: ContextId, jobs: &[&JobId]) -> Result<Vec<Option<String>>, Error> {
        let mut ids: Vec<JobId> = jobs.iter().map(|job| (*job).clone()).collect();
        self.spell(context, ids.iter_mut().collect()).await?;
        self.0.contexts().store(context).await?.jobs().callers(&ids).await.map_err(Error::from)
    }

    /// Returns the caller that created a flow, or `None` if it does not exist. An empty text is an anonymous caller.
    pub async fn flow_owner(self, context: ContextId, id: FlowId) -> Result<Option<String>, Error> {
        self.0.contexts().store(context).await?.flows().caller(id).await.map_err(Error::from)
    }
}

impl ScheduleCalls<'_> {
    /// Returns the caller that created a schedule, or `None` if it does not exist. An empty text is an anonymous
    /// caller.
    pub async fn owner(self, context: ContextId, id: &ScheduleId) -> Result<Option<String>, Error> {
        let spec = self.0.contexts().store(context).await?.schedules().spec(&id.clone().spelled()).await?;
        // Whose one is that another version wrote is not known.
        Ok(spec.map(|spec| spec.and_then(|spec| spec.job.caller_id).unwrap_or_default()))
    }
}
