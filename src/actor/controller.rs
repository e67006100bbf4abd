use std::time::Duration;

use super::lease::HeldLeases;
use crate::model::ScriptType;
use crate::service::Service;
use crate::store::{CompatQueues, Error, Post, Store};

/// Looks for stop requests that outsiders pushed.
pub(super) struct Controller {
    store: Store,
    leases: HeldLeases,
    queues: Vec<String>,
}

impl Controller {
    pub(super) fn new(store: Store, leases: HeldLeases, script_type: &ScriptType, posts: &[Post], compat: &CompatQueues) -> Self {
        let keys = store.keys();
        let of_instances = posts.iter().map(|post| keys.control_instance(&post.script_type, &post.group, post.instance));
        let queues = std::iter::once(keys.control(script_type)).chain(of_instances).chain(compat.stops().iter().cloned()).collect();
        Self { store, leases, queues }
    }
}

impl Service for Controller {
    type Error = Error;

    const NAME: &'static str = "controller";

    async fn tick(&mut self) -> Result<Duration, Error> {
        for job in self.store.control(&self.queues).await? {
            self.store.inbox().stop(job);
        }
        // A running script is to end soon after any client asks; a queued one can wait until somebody looks.
        Ok(Duration::from_millis(if self.leases.len() > 0 { 25 } else { 1000 }))
    }
}
