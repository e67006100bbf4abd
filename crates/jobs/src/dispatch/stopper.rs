use std::collections::BTreeSet;
use std::time::Duration;

use hero_model::ScriptType;
use hero_service::Service;
use hero_store::{Error, Store};

/// Looks for stop requests that foreign programs pushed for jobs of script types that no pool here may have: their actors are programs of others.
pub struct Stopper {
    store: Store,
    script_types: BTreeSet<ScriptType>,
}

/// A pool looks sooner while it runs something.
const OFTEN: Duration = Duration::from_secs(1);
/// So many queues are looked into by one call.
const AT_ONCE: usize = 128;

impl Stopper {
    /// A stopper for one context. Beside these script types it looks after all that have jobs or actors.
    pub fn new(store: Store, script_types: BTreeSet<ScriptType>) -> Self {
        Self { store, script_types }
    }
}

impl Service for Stopper {
    type Error = Error;

    const NAME: &'static str = "reading stops of other programs";

    async fn tick(&mut self) -> Result<Duration, Error> {
        for queues in self.store.queues().control_queues(&self.script_types).await?.chunks(AT_ONCE) {
            for job in self.store.queues().control(queues).await? {
                self.store.inbox().stop(job);
            }
        }
        Ok(OFTEN)
    }
}
