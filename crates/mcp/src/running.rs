use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

/// The key by which a client cancels its calls: the client, if there are several, and the id. A client may use one id
/// for several calls.
pub(super) type Key = (Option<Arc<str>>, RequestId);

/// The running calls with a key, so that their clients can cancel them. There are at most as many as requests.
#[derive(Debug, Default)]
pub(super) struct Running(Mutex<Calls>);

#[derive(Debug, Default)]
struct Calls {
    next: u64,
    /// The calls of each key, each with a unique number.
    named: HashMap<Key, Vec<(u64, CancellationToken)>>,
}

impl Running {
    /// Registers a call until the result is dropped. A call without a key cannot be cancelled by key.
    pub(super) fn begin(self: &Arc<Self>, key: Option<Key>) -> Begun {
        let cancelled = CancellationToken::new();
        let noted = key.map(|key| {
            let mut calls = self.locked();
            calls.next += 1;
            let number = calls.next;
            calls.named.entry(key.clone()).or_default().push((number, cancelled.clone()));
            Noted { running: Arc::clone(self), key, number }
        });
        Begun { cancelled, _noted: noted }
    }

    /// Cancels the running calls of a key.
    pub(super) fn cancel(&self, key: &Key) {
        for (_, cancelled) in self.locked().named.get(key).into_iter().flatten() {
            cancelled.cancel();
        }
    }

    fn locked(&self) -> MutexGuard<'_, Calls> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running call.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) cancelled: CancellationToken,
    _noted: Option<Noted>,
}

/// The registration of a running call.
#[derive(Debug)]
struct Noted {
    running: Arc<Running>,
    key: Key,
    number: u64,
}

impl Drop for Noted {
    fn drop(&mut self) {
        let mut calls = self.running.locked();
        if let Some(named) = calls.named.get_mut(&self.key) {
            named.retain(|(number, _)| *number != self.number);
            if named.is_empty() {
                calls.named.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_name_are_cancelled_together_and_none_takes_the_place_of_another() {
        let running = Arc::<Running>::default();
        let key = |client: &str| Some((Some(Arc::from(client)), RequestId::Number(7)));
        let (first, second, third) = (running.begin(key("a")), running.begin(key("a")), running.begin(key("a")));
        let (of_another, nameless) = (running.begin(key("b")), running.begin(None));
        drop(second);
        running.cancel(&key("a").unwrap());
        assert!(first.cancelled.is_cancelled() && third.cancelled.is_cancelled());
        assert!(!of_another.cancelled.is_cancelled() && !nameless.cancelled.is_cancelled());
        drop((first, third, of_another, nameless));
        assert!(running.locked().named.is_empty(), "nothing is left of them");
    }
}
