use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

use hero_model::ContextId;

/// Wakes the loops that send messages when one is stored in this process. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Wakes(Arc<Mutex<BTreeMap<ContextId, Arc<Notify>>>>);

impl Wakes {
    /// Returns the notifier of a context's loop.
    pub(super) fn of(&self, context: ContextId) -> Arc<Notify> {
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(context).or_default())
    }
}
