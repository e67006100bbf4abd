use std::time::Duration;

use tokio::sync::watch;

use super::{Hosting, Pools};
use crate::model::{ContextId, ContextStatus};
use crate::service::Service;

/// Applies changes of contexts here: limits and deletions.
pub(crate) struct Follower {
    hosting: Hosting,
    changes: watch::Receiver<u64>,
}

/// The pause before a failed change is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(1);

impl Follower {
    pub(crate) fn new(hosting: Hosting) -> Self {
        let mut changes = hosting.0.authority.changes();
        changes.mark_changed();
        Self { hosting, changes }
    }
}

impl Service for Follower {
    type Error = std::convert::Infallible;

    const NAME: &'static str = "following changes of contexts";

    async fn tick(&mut self) -> Result<Duration, Self::Error> {
        // The sender lives as long as the authority, which is held here.
        let _ = tokio::time::timeout(RETRY_DELAY, self.changes.changed()).await;
        let open: Vec<ContextId> = self.hosting.hosted().keys().copied().collect();
        for context in open {
            match self.hosting.0.authority.context(context) {
                Some(known) if known.status == ContextStatus::Active => self.hosting.apply(context),
                Some(_) => {}
                None if self.hosting.is_made(context) => self.hosting.leave_in_background(context),
                None => {}
            }
        }
        for context in self.hosting.0.authority.contexts() {
            if context.status == ContextStatus::Deleting && self.hosting.is_made(context.context_id) {
                self.hosting.delete(context.context_id);
            }
        }
        Ok(Duration::ZERO)
    }
}

impl Hosting {
    /// Applies the current limits of an open context.
    fn apply(&self, context: ContextId) {
        let limits = self.limits_of(context);
        let hosted = self.hosted();
        let Some(hosted) = hosted.get(&context) else { return };
        self.limit(&hosted.store, &limits);
        if let Pools::Running(running) = &hosted.pools {
            running.pools.limit(&limits);
        }
    }
}
