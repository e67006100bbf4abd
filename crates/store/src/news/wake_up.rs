use std::sync::Arc;

use tokio::sync::Notify;

use super::pool_handles::PoolHandles;
use hero_model::ScriptType;

/// Wakes the pools of this process when work arrives.
#[derive(Debug, Default)]
pub struct WakeUps(PoolHandles<Notify>);

impl WakeUps {
    /// Returns a handle that is notified when work of a type arrives, as long as it is kept.
    pub fn register(&self, script_type: &ScriptType) -> Arc<Notify> {
        let wake_up = Arc::new(Notify::new());
        self.0.enter(script_type, &wake_up);
        wake_up
    }

    /// Wakes the pools of a type, if this process has any.
    pub(crate) fn wake(&self, script_type: &ScriptType) {
        self.0.find_map(script_type, |wake_up| {
            wake_up.notify_one();
            None::<()>
        });
    }

    /// Wakes the pools of the types that a function names.
    pub(crate) fn wake_all<'a>(&self, script_types: impl IntoIterator<Item = &'a String>) {
        for script_type in script_types.into_iter().filter_map(|word| word.parse().ok()) {
            self.wake(&script_type);
        }
    }
}
