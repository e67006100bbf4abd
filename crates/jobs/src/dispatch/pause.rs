use super::Error;
use super::error::RETRY_AFTER;
use super::views::QueueCalls;
use hero_model::{ContextId, Queue};
use hero_store::Pausing;

impl QueueCalls<'_> {
    /// Pauses the queues of a type and target, whatever their priority, until they are resumed.
    ///
    /// Running jobs go on and new ones wait. It applies to every server and actor, and across restarts. Calling it
    /// twice changes nothing.
    pub async fn pause(self, context: ContextId, queue: &Queue) -> Result<(), Error> {
        let store = self.0.contexts().store(context).await?;
        self.0.jobs().check_script_type(context, &queue.script_type).await?;
        match store.queues().pause(queue).await? {
            Pausing::Paused => Ok(()),
            Pausing::Many(most) => {
                Err(Error::Full { what: format!("{most} queues are paused, which is the most; resume one"), retry_after: RETRY_AFTER })
            }
        }
    }

    /// Resumes queues that were paused, at once. A queue that was not paused does not change, but its type must be
    /// known.
    pub async fn resume(self, context: ContextId, queue: &Queue) -> Result<(), Error> {
        if self.0.contexts().store(context).await?.queues().resume(queue).await? {
            return Ok(()); // Also a type that nobody knows any more.
        }
        self.0.jobs().check_script_type(context, &queue.script_type).await
    }
}
