use std::sync::LazyLock;

use crate::model::JobId;
use crate::store::connection::Script;
use crate::store::{Error, Store};

static SCRIPT: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("renew.lua")));

impl Store {
    /// Keeps running jobs for another lease, and gives those that this server does not hold any more.
    ///
    /// The result of such a job will be refused, so it may as well end now.
    pub async fn renew(&self, attempts: &[(JobId, u32)]) -> Result<Vec<(JobId, u32)>, Error> {
        let mut lost = Vec::new();
        for attempts in attempts.chunks(128) {
            let mut call = self.0.call(&SCRIPT);
            call.arg(self.0.periods.lease.as_millis() as u64);
            for (job, attempt) in attempts {
                call.arg(job.as_str()).arg(*attempt);
            }
            let pairs: Vec<(String, u32)> = self.0.turns.script(&SCRIPT, &call).await?;
            lost.extend(pairs.into_iter().filter_map(|(id, attempt)| Some((id.parse().ok()?, attempt))));
        }
        Ok(lost)
    }
}
