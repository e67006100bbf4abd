use super::{Dispatcher, Error};
use crate::model::{ContextId, Job, JobId, Status};

impl Dispatcher {
    /// Why a job has not ended, in words for its caller.
    pub(super) async fn explain(&self, context: ContextId, id: &JobId) -> Result<String, Error> {
        let job = self.job(context, id).await?;
        Ok(match job.status {
            Status::Created => "it was never started; start_job starts it".into(),
            Status::Scheduled if job.attempt > 0 => format!("attempt {} failed, the next one waits for its time", job.attempt),
            Status::Scheduled => format!("it is due at {}", job.run_at.map_or_else(|| "a later time".into(), |time| time.to_string())),
            Status::WaitingForPrerequisites => "other jobs must finish first".into(),
            Status::Dispatched => self.explain_queued(context, &job).await?,
            Status::Started => format!(
                "{} runs it since {}",
                job.actor.as_deref().unwrap_or("an actor"),
                job.started_at.map_or_else(|| "an unknown time".into(), |time| time.to_string())
            ),
            Status::Finished | Status::Error => "it has just ended; get_result gives its result".into(),
        })
    }

    async fn explain_queued(&self, context: ContextId, job: &Job) -> Result<String, Error> {
        let script_type = job.script_type.clone().unwrap_or_default();
        let actors = self.actors(context).await?;
        let fits = |group: &Option<_>, instance: Option<u32>| {
            actors.iter().any(|actor| {
                actor.script_type == script_type
                    && group.as_ref().is_none_or(|group| *group == actor.group)
                    && instance.is_none_or(|instance| instance == actor.instance)
            })
        };
        let target = match (&job.group, job.instance) {
            (Some(group), Some(instance)) => format!("{script_type}, group {group}, instance {instance}"),
            (Some(group), None) => format!("{script_type}, group {group}"),
            _ => script_type.to_string(),
        };
        if !fits(&job.group, job.instance) {
            return Ok(format!("no live actor takes jobs of {target}; it waits in its queue until one starts"));
        }
        let depth = self.queues(context).await?.into_iter().find(|queue| {
            queue.script_type == script_type && queue.group == job.group && queue.instance == job.instance && queue.priority == job.priority
        });
        Ok(format!("all actors of {target} are busy; its queue holds {} jobs", depth.map_or(0, |queue| queue.depth)))
    }
}
