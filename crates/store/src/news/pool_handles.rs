use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use hero_model::ScriptType;

/// The registrations of the pools of this process, by script type. An entry lasts as long as its pool keeps it.
#[derive(Debug)]
pub(crate) struct PoolHandles<T>(Mutex<HashMap<ScriptType, Vec<Weak<T>>>>);

impl<T> PoolHandles<T> {
    /// Adds an entry for a type.
    pub(crate) fn enter(&self, script_type: &ScriptType, entry: &Arc<T>) {
        let mut of_type = self.locked();
        let entries = of_type.entry(script_type.clone()).or_default();
        entries.retain(|entry| entry.strong_count() > 0);
        entries.push(Arc::downgrade(entry));
    }

    /// Returns the first result that `make` gives for an entry of a type.
    pub(crate) fn find_map<R>(&self, script_type: &ScriptType, make: impl FnMut(Arc<T>) -> Option<R>) -> Option<R> {
        self.locked().get(script_type)?.iter().filter_map(Weak::upgrade).find_map(make)
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<ScriptType, Vec<Weak<T>>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<T> Default for PoolHandles<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}
