#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// A task that runs in rounds.
pub trait Service: Send + 'static {
    /// The error of a failed round.
    type Error: std::fmt::Display + Send;

    /// The task in words for the log: "renewing leases".
    const NAME: &'static str;

    /// Does one bounded round and returns the pause before the next.
    fn tick(&mut self) -> impl Future<Output = Result<Duration, Self::Error>> + Send;
}

/// The pause after a round that failed.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// Runs a service until shutdown, also after errors. Only the first of several errors in a row is logged.
pub async fn run(mut service: impl Service, shutdown: CancellationToken) {
    let mut failing = false;
    while !shutdown.is_cancelled() {
        let pause = tokio::select! {
            pause = service.tick() => pause,
            () = shutdown.cancelled() => return,
        };
        let pause = match pause {
            Ok(pause) => {
                if std::mem::take(&mut failing) {
                    tracing::info!("{}: works again", name(&service));
                }
                pause
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%error, "{}: failed, and is tried again every second", name(&service));
                }
                AFTER_ERROR
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = shutdown.cancelled() => return,
        }
    }
}

/// Up to this many bytes are processed in place; more go to threads that do not serve connections.
pub const LITTLE: usize = 8 << 10;

/// Runs work on this many bytes. Unless they are few, uses a thread that does not serve connections. Returns `None` if
/// the work panicked, or the process is about to end.
pub async fn away<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    if bytes <= LITTLE { Some(work()) } else { tokio::task::spawn_blocking(work).await.ok() }
}

fn name<S: Service>(_: &S) -> &'static str {
    S::NAME
}
