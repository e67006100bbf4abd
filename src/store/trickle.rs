use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::model::ScriptType;

/// When the pool of each script type last took a job although memory was full.
#[derive(Debug, Default)]
pub(super) struct Trickle(Mutex<HashMap<ScriptType, Instant>>);

impl Trickle {
    /// Whether a pool may take one, because its last is this long ago.
    pub(super) fn is_due(&self, script_type: &ScriptType, pause: Duration) -> bool {
        let mut last = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = Instant::now();
        let due = last.get(script_type).is_none_or(|last| now.duration_since(*last) >= pause);
        if due {
            last.insert(script_type.clone(), now);
        }
        due
    }
}
