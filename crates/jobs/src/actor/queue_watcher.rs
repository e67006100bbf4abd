use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

use hero_store::{LayoutQueues, Peek, Store};

/// The queues of a pool are watched after it has been idle for this long, because each takes a blocking connection.
const WATCH_AFTER_IDLE: Duration = Duration::from_millis(20);
/// The interval at which a queue is checked whose jobs this pool may not take.
const REFUSED_QUEUE_INTERVAL: Duration = Duration::from_secs(1);
/// At most this many queues are watched, because each takes a connection. The fetcher's poll finds jobs in the others.
const MOST_QUEUES: usize = 16;

/// The queues that are watched for a pool: its type queue, and those of other layouts.
pub(super) fn watched_queues(type_queue: String, layout_queues: &LayoutQueues) -> impl Iterator<Item = String> {
    std::iter::once(type_queue).chain(layout_queues.keys().cloned()).take(MOST_QUEUES)
}

/// Watches one queue while the pool is idle, so that a push by any client wakes it at once.
///
/// While the pool is busy its next fetch finds the jobs anyway.
pub(super) async fn watch_queue(
    store: Store,
    queue: String,
    wake_up: Arc<Notify>,
    mut idle: watch::Receiver<bool>,
    shutdown: CancellationToken,
) {
    let mut peek = Peek::new(store);
    let watching = async {
        loop {
            if idle.wait_for(|idle| *idle).await.is_err() {
                return;
            }
            // Still idle after a moment: no job runs that would cause the next fetch.
            if tokio::time::timeout(WATCH_AFTER_IDLE, idle.wait_for(|idle| !idle)).await.is_ok() {
                continue;
            }
            let found = tokio::select! {
                found = peek.wait(&queue) => found,
                changed = idle.wait_for(|idle| !idle) => match changed {
                    Ok(_) => continue,
                    Err(_) => return,
                },
            };
            match found {
                Ok(true) => {
                    wake_up.notify_one();
                    // If the pool stays idle, it may not take this job.
                    let _ = tokio::time::timeout(REFUSED_QUEUE_INTERVAL, idle.wait_for(|idle| !idle)).await;
                }
                Ok(false) => {}
                Err(error) => {
                    tracing::debug!(%error, "peeking at {queue} failed");
                    tokio::time::sleep(REFUSED_QUEUE_INTERVAL).await;
                }
            }
        }
    };
    tokio::select! {
        () = watching => {}
        () = shutdown.cancelled() => {}
    }
}
