use std::time::Duration;

use super::lease::Holdings;
use crate::model::ScriptType;
use crate::service::Service;
use crate::store::{Error, LayoutQueues, Post, Store};

/// Looks for stop requests that foreign programs pushed.
pub(super) struct Controller {
    store: Store,
    holdings: Holdings,
    queues: Vec<String>,
}

impl Controller {
    pub(super) fn new(store: Store, holdings: Holdings, script_type: &ScriptType, posts: &[Post], compat: &LayoutQueues) -> Self {
        let keys = store.keys();
        let of_instances = posts.iter().map(|post| keys.control_instance(&post.script_type, &post.group, post.instance));
        let queues = std::iter::once(keys.control(script_type)).chain(of_instances).chain(compat.stops().iter().cloned()).collect();
        Self { store, holdings, queues }
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
        Ok(Duration::from_millis(if self.holdings.len() > 0 { 25 } else { 1000 }))
    }
}
