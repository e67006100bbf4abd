use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A fixed amount of room for each caller, so that a caller with large requests delays only its own requests.
pub(crate) struct CallerSemaphores {
    of_a_caller: usize,
    callers: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl CallerSemaphores {
    pub(crate) fn new(of_a_caller: usize) -> Self {
        Self { of_a_caller, callers: Mutex::default() }
    }

    /// Waits until a caller has this much room.
    pub(crate) async fn take(&self, caller: &str, room: u32) -> OwnedSemaphorePermit {
        let of_caller = {
            let mut callers = self.callers.lock().unwrap_or_else(PoisonError::into_inner);
            // Callers without a request need no entry, so the map is no longer than there are requests.
            callers.retain(|_, room| Arc::strong_count(room) > 1);
            callers.entry(caller.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.of_a_caller))).clone()
        };
        of_caller.acquire_many_owned(room).await.expect("nobody closes it")
    }
}
