use std::collections::BTreeSet;
use std::time::Duration;

use hero_model::ScriptType;
use hero_service::Service;
use hero_store::{Error, Store};

/// Finds stop requests that foreign programs pushed for jobs of script types without a pool here, whose actors are
/// other programs.
pub struct Stopper {
    store: Store,
    script_types: BTreeSet<ScriptType>,
}

/// The interval of the check. A pool checks more often while it runs jobs.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of queues that one call reads.
const QUEUES_PER_CALL: usize = 128;

impl Stopper {
    /// Creates a stopper for one context. In addition to these script types it checks all that have jobs or actors.
    pub fn new(store: Store, script_types: BTreeSet<ScriptType>) -> Self {
        Self { store, script_types }
    }
}

impl Service for Stopper {
    type Error = Error;

    const NAME: &'static str = "reading stop requests of other programs";

    async fn tick(&mut self) -> Result<Duration, Error> {
        for queues in self.store.queues().control_queues(&self.script_types).await?.chunks(QUEUES_PER_CALL) {
            for job in self.store.queues().control(queues).await? {
                self.store.inbox().stop(job);
            }
        }
        Ok(CHECK_INTERVAL)
    }
}
