use std::time::Duration;

use super::lease::HeldLeases;
use hero_model::ScriptType;
use hero_service::Service;
use hero_store::{Error, LayoutQueues, Registration, Store};

/// Looks for stop requests in the control queues, where any client may push them.
pub(super) struct StopRequests {
    store: Store,
    leases: HeldLeases,
    queues: Vec<String>,
}

impl StopRequests {
    pub(super) fn new(
        store: Store,
        leases: HeldLeases,
        script_type: &ScriptType,
        registrations: &[Registration],
        layout_queues: &LayoutQueues,
    ) -> Self {
        let keys = store.keys();
        let of_instances = registrations
            .iter()
            .map(|registration| keys.control_instance(&registration.script_type, &registration.group, registration.instance));
        let queues = std::iter::once(keys.control(script_type)).chain(of_instances).chain(layout_queues.stops().iter().cloned()).collect();
        Self { store, leases, queues }
    }
}

impl Service for StopRequests {
    type Error = Error;

    const NAME: &'static str = "reading stop requests for jobs that run here";

    async fn tick(&mut self) -> Result<Duration, Error> {
        for job in self.store.queues().control(&self.queues).await? {
            self.store.inbox().stop(job);
        }
        // While scripts run, a stop request must be found soon. Otherwise it can wait.
        Ok(Duration::from_millis(if self.leases.len() > 0 { 25 } else { 1000 }))
    }
}
