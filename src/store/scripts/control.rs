use std::sync::LazyLock;

use crate::model::JobId;
use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("control.lua")));

impl Store {
    /// Honours stop requests that lie in control queues, and gives the jobs that this server runs and must stop itself.
    pub async fn control(&self, queues: &[String]) -> Result<Vec<JobId>, Error> {
        let mut call = self.0.call(&SCRIPT);
        for queue in queues {
            call.arg(queue);
        }
        let ids: Vec<String> = self.0.commands.script(&SCRIPT, &call).await?;
        Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
    }
}
