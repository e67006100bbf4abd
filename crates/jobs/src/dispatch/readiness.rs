use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Mutex;

use super::pressure::REFUSE_FROM_SHARE;
use super::{Dispatcher, StoreInfo};
use hero_model::ContextId;
use hero_store::{Error, Store};

/// A Redis that does not answer within this time is not ready. It is shorter than the timeout of a probe, so that the
/// answer can name the reason.
const REDIS_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum age of the cached memory state.
const MAX_MEMORY_STATE_AGE: Duration = Duration::from_secs(1);

/// The last known memory state of a Redis.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<Option<(Instant, StoreInfo)>>);

impl Memory {
    async fn of(&self, store: &Store) -> Result<StoreInfo, Error> {
        let mut known = self.0.lock().await;
        match &*known {
            Some((at, info)) if at.elapsed() < MAX_MEMORY_STATE_AGE => Ok(info.clone()),
            _ => {
                let info = store.health().info().await?;
                *known = Some((Instant::now(), info.clone()));
                Ok(info)
            }
        }
    }
}

impl Dispatcher {
    /// Returns a reason for each context that cannot take jobs now; none if all can.
    pub async fn readiness(&self) -> Vec<String> {
        let contexts = self.0.contexts.all();
        join_all(contexts.iter().map(|state| lack(state.store(), &state.memory))).await.into_iter().flatten().collect()
    }
}

/// Returns why a context cannot be used now, if it cannot.
async fn lack(store: &Store, memory: &Memory) -> Option<String> {
    let of_context = in_context(store.context());
    let look = async {
        store.health().ping().await?;
        memory.of(store).await
    };
    match tokio::time::timeout(REDIS_TIMEOUT, look).await {
        Ok(Ok(info)) if info.max_memory > 0 && info.used_memory as f64 >= REFUSE_FROM_SHARE * info.max_memory as f64 => {
            let (used, limit) = (info.used_memory, info.max_memory);
            let what = if used >= limit { "full and refuses to write" } else { "nearly full, so new jobs are refused" };
            Some(format!("Redis{of_context} is {what}: {used} of {limit} bytes are in use"))
        }
        Ok(Ok(_)) => None,
        Ok(Err(error)) => Some(match (error.disk_fault(), store.health().refusal().await) {
            (Some(why), _) => format!("Redis{of_context} refuses to write: {why}"),
            // A call on a connection that breaks does not tell whether a new connection is possible.
            (None, Some(why)) => format!("Redis{of_context} cannot be reached: {why}"),
            (None, None) => format!("Redis{of_context} does not answer: {error}"),
        }),
        // Calls are tried again until their own deadline, so they do not say soon that nobody listens.
        Err(_) => Some(match store.health().refusal().await {
            Some(why) => format!("Redis{of_context} cannot be reached: {why}"),
            None => format!("Redis{of_context} does not answer within {} s", REDIS_TIMEOUT.as_secs()),
        }),
    }
}

/// Names a context; context 0 is not named.
fn in_context(context: ContextId) -> String {
    if context == ContextId::default() { String::new() } else { format!(" of context {context}") }
}
