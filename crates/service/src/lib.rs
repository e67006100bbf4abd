#![doc = include_str!("../README.md")]
#![deny(unsafe_code)]

mod away;
mod pulse;

use std::future::Future;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use away::{MAX_IN_PLACE_BYTES, away};
pub use pulse::{PULSE, until_pulse};

/// A task that runs in rounds.
pub trait Service: Send + 'static {
    /// The error of a failed round.
    type Error: std::fmt::Display + Send;

    /// The task in words for the log: "renewing leases".
    const NAME: &'static str;

    /// Does one bounded round and returns the pause before the next. Without a pause the next one follows at once. A
    /// pause of a second or more ends up to a fifth of a second early, [with those of other loops](until_pulse).
    fn tick(&mut self) -> impl Future<Output = Result<Duration, Self::Error>> + Send;

    /// Returns when there is something to do before the pause ends. `run` may drop it and call it again.
    fn due_early(&mut self) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

/// The pause after a round that failed.
const AFTER_ERROR: Duration = Duration::from_secs(1);

/// The shortest pause that counts as one between two polls. Shorter ones may end when something is due.
const MIN_POLL_PAUSE: Duration = Duration::from_secs(1);

/// Runs a service until shutdown, also after errors. Only the first of several errors in a row is logged.
pub async fn run(service: impl Service, shutdown: CancellationToken) {
    repeat(service, shutdown, AFTER_ERROR).await;
}

async fn repeat<S: Service>(mut service: S, shutdown: CancellationToken, after_error: Duration) {
    let mut failing = false;
    while !shutdown.is_cancelled() {
        let pause = tokio::select! {
            pause = service.tick() => pause,
            () = shutdown.cancelled() => return,
        };
        let pause = match pause {
            Ok(pause) => {
                if std::mem::take(&mut failing) {
                    tracing::info!("{}: works again", S::NAME);
                }
                pause
            }
            Err(error) => {
                if !std::mem::replace(&mut failing, true) {
                    tracing::warn!(%error, "{}: failed, and is tried again every second", S::NAME);
                }
                after_error
            }
        };
        if pause.is_zero() {
            // The shortest sleep takes a millisecond.
            tokio::task::yield_now().await;
            continue;
        }
        let pause = if pause < MIN_POLL_PAUSE || failing { pause } else { until_pulse(pause) };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = service.due_early(), if !failing => {}
            () = shutdown.cancelled() => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Instant;

    use super::*;

    /// Held by tests whose services log: whether anybody listens to a line is found out once for all threads.
    static LOGS: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    /// A pause that no test waits for.
    const ENDLESS_PAUSE: Duration = Duration::from_secs(3600);

    /// Rounds that end as listed; the one after them cancels.
    struct Listed {
        rounds: VecDeque<Result<Duration, &'static str>>,
        shutdown: CancellationToken,
        at: Arc<Mutex<Vec<Instant>>>,
    }

    impl Service for Listed {
        type Error = &'static str;
        const NAME: &'static str = "doing as listed";

        async fn tick(&mut self) -> Result<Duration, &'static str> {
            self.at.lock().unwrap().push(Instant::now());
            self.rounds.pop_front().unwrap_or_else(|| {
                self.shutdown.cancel();
                Ok(ENDLESS_PAUSE)
            })
        }
    }

    /// Rounds with a long pause that is not needed.
    struct Early(Listed);

    impl Service for Early {
        type Error = &'static str;
        const NAME: &'static str = "having more to do";

        fn tick(&mut self) -> impl Future<Output = Result<Duration, &'static str>> {
            self.0.tick()
        }

        async fn due_early(&mut self) {}
    }

    /// Runs the rounds with this pause after an error, and returns when each began.
    async fn begun<const MANY: usize>(rounds: [Result<Duration, &'static str>; MANY], after_error: Option<Duration>) -> Vec<Instant> {
        let (shutdown, at) = (CancellationToken::new(), Arc::default());
        let service = Listed { rounds: rounds.into(), shutdown: shutdown.clone(), at: Arc::clone(&at) };
        match after_error {
            None => run(service, shutdown).await,
            Some(pause) => repeat(service, shutdown, pause).await,
        }
        std::mem::take(&mut *at.lock().unwrap())
    }

    #[tokio::test]
    async fn only_the_first_error_of_a_row_is_logged_and_once_that_it_works_again() {
        const OK: Result<Duration, &str> = Ok(Duration::ZERO);
        let _alone = LOGS.lock().await;
        let log = tempfile::NamedTempFile::new().unwrap();
        let writer = Mutex::new(log.reopen().unwrap());
        let format = tracing_subscriber::fmt().with_ansi(false).without_time().with_target(false);
        let listening = tracing::subscriber::set_default(format.with_writer(writer).finish());
        let rounds = [OK, Err("one"), Err("two"), Err("three"), OK, OK, Err("four"), OK];
        assert_eq!(begun(rounds, Some(Duration::ZERO)).await.len(), rounds.len() + 1);
        drop(listening);
        let log = std::fs::read_to_string(log.path()).unwrap();
        let lines: Vec<&str> = log.lines().map(str::trim).collect();
        let failed = |error| format!("WARN doing as listed: failed, and is tried again every second error={error}");
        let works = "INFO doing as listed: works again";
        assert_eq!(lines, [&failed("one"), works, &failed("four"), works]);
    }

    #[tokio::test]
    async fn a_round_that_failed_is_tried_again_after_a_second() {
        let _alone = LOGS.lock().await;
        let begun = begun([Err("fails")], None).await;
        let [failed, again] = begun[..] else { panic!("{begun:?}") };
        assert!(again - failed >= Duration::from_secs(1), "{begun:?}");
    }

    /// A round that never ends, and marks when it is dropped.
    struct Endless {
        begun: Arc<tokio::sync::Notify>,
        dropped: Arc<AtomicBool>,
    }

    struct Mark(Arc<AtomicBool>);

    impl Drop for Mark {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    impl Service for Endless {
        type Error = std::convert::Infallible;
        const NAME: &'static str = "never ending";

        async fn tick(&mut self) -> Result<Duration, Self::Error> {
            let _mark = Mark(Arc::clone(&self.dropped));
            self.begun.notify_one();
            std::future::pending().await
        }
    }

    #[tokio::test]
    async fn a_cancellation_drops_the_round_that_is_under_way() {
        let (shutdown, begun, dropped) = (CancellationToken::new(), Arc::new(tokio::sync::Notify::new()), Arc::default());
        let service = Endless { begun: Arc::clone(&begun), dropped: Arc::clone(&dropped) };
        let running = tokio::spawn(run(service, shutdown.clone()));
        begun.notified().await;
        assert!(!dropped.load(Ordering::Relaxed));
        shutdown.cancel();
        running.await.unwrap();
        assert!(dropped.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn what_is_due_early_ends_a_pause_but_not_that_after_an_error() {
        let _alone = LOGS.lock().await;
        let (shutdown, at) = (CancellationToken::new(), Arc::default());
        let rounds = [Ok(ENDLESS_PAUSE), Err("fails"), Ok(ENDLESS_PAUSE)].into();
        run(Early(Listed { rounds, shutdown: shutdown.clone(), at: Arc::clone(&at) }), shutdown).await;
        let [_, failed, again, _] = at.lock().unwrap()[..] else { panic!("{at:?}") };
        assert!(again - failed >= AFTER_ERROR);
    }

    #[tokio::test]
    async fn a_cancellation_ends_a_pause_and_comes_before_the_first_round() {
        // `Listed` cancels in its only round, and asks for a long pause.
        assert_eq!(begun([], None).await.len(), 1);
        let (shutdown, at) = (CancellationToken::new(), Arc::default());
        shutdown.cancel();
        run(Listed { rounds: VecDeque::new(), shutdown: shutdown.clone(), at: Arc::clone(&at) }, shutdown).await;
        assert!(at.lock().unwrap().is_empty());
    }
}
