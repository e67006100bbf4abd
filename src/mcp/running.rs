use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

/// A request: which client made it, where there are several, and the id by which that client knows it.
pub(super) type Key = (Option<Arc<str>>, RequestId);

/// The calls that are being carried out, so that their clients can cancel them. There are as many as there are requests.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<HashMap<Key, CancellationToken>>);

impl Running {
    /// Notes a call until the result is dropped.
    pub(super) fn begin(self: &Arc<Self>, key: Key) -> Begun {
        let cancelled = CancellationToken::new();
        self.locked().insert(key.clone(), cancelled.clone());
        Begun { running: Arc::clone(self), key, cancelled }
    }

    /// Cancels a call, if it is still carried out.
    pub(super) fn cancel(&self, key: &Key) {
        if let Some(cancelled) = self.locked().get(key) {
            cancelled.cancel();
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Key, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call that is being carried out.
#[derive(Debug)]
pub(super) struct Begun {
    running: Arc<Running>,
    key: Key,
    pub(super) cancelled: CancellationToken,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.running.locked().remove(&self.key);
    }
}
