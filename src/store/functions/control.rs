use crate::model::JobId;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("control");

impl Store {
    /// Honours stop requests that lie in control queues, and gives the jobs that this server runs and must stop itself.
    pub async fn control(&self, queues: &[String]) -> Result<Vec<JobId>, Error> {
        let mut call = self.0.call(&FUNCTION);
        for queue in queues {
            call.arg(queue);
        }
        let ids: Vec<String> = self.0.commands.function(&call).await?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }
}
