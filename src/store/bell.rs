use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tokio::sync::Notify;

use crate::model::ScriptType;

/// Wakes the pools of this process when work arrives.
#[derive(Debug, Default)]
pub struct Bells {
    of_type: Mutex<HashMap<ScriptType, Vec<Weak<Notify>>>>,
}

impl Bells {
    /// A new bell that rings when work of a type arrives, as long as it is kept.
    pub fn hang(&self, script_type: &ScriptType) -> Arc<Notify> {
        let bell = Arc::new(Notify::new());
        let mut of_type = self.locked();
        let bells = of_type.entry(script_type.clone()).or_default();
        bells.retain(|bell| bell.strong_count() > 0);
        bells.push(Arc::downgrade(&bell));
        bell
    }

    /// Wakes the pools of a type, if this process has any.
    pub(super) fn ring(&self, script_type: &ScriptType) {
        for bell in self.locked().get(script_type).into_iter().flatten().filter_map(Weak::upgrade) {
            bell.notify_one();
        }
    }

    /// Wakes the pools of the types that a script names.
    pub(super) fn ring_all<'a>(&self, script_types: impl IntoIterator<Item = &'a String>) {
        for script_type in script_types.into_iter().filter_map(|word| word.parse().ok()) {
            self.ring(&script_type);
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<ScriptType, Vec<Weak<Notify>>>> {
        self.of_type.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
