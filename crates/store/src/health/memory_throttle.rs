use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The time when each pool (script type and group) last took a job although memory was full.
#[derive(Debug, Default)]
pub(crate) struct MemoryThrottle(Mutex<HashMap<String, Instant>>);

impl MemoryThrottle {
    /// Whether a pool may take a job now, because the pause since its last one is over.
    pub(crate) fn is_due(&self, pool: &str, pause: Duration) -> bool {
        let mut last = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let now = Instant::now();
        let due = last.get(pool).is_none_or(|last| now.duration_since(*last) >= pause);
        if due {
            last.insert(pool.to_owned(), now);
        }
        due
    }
}
