use super::error::RETRY_AFTER;
use super::{Dispatcher, Error};
use hero_model::{ContextId, Queue};
use hero_store::Pausing;

impl Dispatcher {
    /// Has nothing taken from the queues of a type and target, whatever their priority, until they are resumed.
    ///
    /// Running jobs go on and new ones wait. It holds for every server and actor, and across restarts. Doing it twice changes nothing.
    pub async fn pause(&self, context: ContextId, queue: &Queue) -> Result<(), Error> {
        let store = self.store(context).await?;
        self.check_script_type(context, &queue.script_type).await?;
        match store.queues().pause(queue).await.map_err(|error| Error::store(error, None))? {
            Pausing::Paused => Ok(()),
            Pausing::Many(most) => {
                Err(Error::Full { what: format!("{most} queues are paused, which is the most; resume one"), retry_after: RETRY_AFTER })
            }
        }
    }

    /// Has queues served again that were paused, at once. Of one that was not paused nothing changes; its type has to be a known one.
    pub async fn resume(&self, context: ContextId, queue: &Queue) -> Result<(), Error> {
        if self.store(context).await?.queues().resume(queue).await.map_err(|error| Error::store(error, None))? {
            return Ok(()); // Also a type that nobody knows any more.
        }
        self.check_script_type(context, &queue.script_type).await
    }
}
