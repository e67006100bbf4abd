use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::random;
use tokio::time::timeout;

use crate::dispatch::Error;
use hero_model::Backoff;
use hero_store::{self as store, Store};

/// Pause before the store is asked again, at first and at most.
const RETRY_BACKOFF: Backoff = Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(1) };

/// A store that does not answer for this long counts as away.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);

/// Asks the store on behalf of one attempt, and repeats the call while the store is away. The timeout of the attempt
/// ends the repetition, because the call is dropped with it.
///
/// Every call must be idempotent: it only reads, or it has the identity of its host call.
#[derive(Debug, Clone, Default)]
pub(super) struct StoreRetry(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether a host call waits for an answer, and whether the store was away at the last try.
    asks: AtomicBool,
    is_away: AtomicBool,
}

/// An error that may be temporary.
pub(super) trait Retryable {
    /// True if the call should be repeated.
    fn is_retryable(&self) -> bool;

    /// True if the store is away.
    fn is_away(&self) -> bool;
}

impl Retryable for store::Error {
    fn is_retryable(&self) -> bool {
        // A full memory needs an operator, and a job can wait for that.
        self.may_pass() && !self.out_of_memory()
    }

    fn is_away(&self) -> bool {
        self.is_retryable()
    }
}

impl Retryable for Error {
    fn is_retryable(&self) -> bool {
        match self {
            Self::Store { source, .. } => source.is_retryable(),
            // Other calls wait for the store, too.
            Self::Busy { .. } => true,
            _ => false,
        }
    }

    fn is_away(&self) -> bool {
        matches!(self, Self::Store { source, .. } if source.is_retryable())
    }
}

impl StoreRetry {
    /// Repeats a call until it succeeds, or fails with a permanent error.
    pub(super) async fn run<T, E: Retryable, Call>(&self, call: impl Fn() -> Call) -> Result<T, E>
    where
        Call: Future<Output = Result<T, E>>,
    {
        let mut times = 0;
        self.0.asks.store(true, Ordering::Relaxed);
        loop {
            let answer = call().await;
            if !answer.as_ref().is_err_and(Retryable::is_retryable) {
                self.0.asks.store(false, Ordering::Relaxed);
                self.0.is_away.store(false, Ordering::Relaxed);
                return answer;
            }
            self.0.is_away.store(answer.is_err_and(|error| error.is_away()), Ordering::Relaxed);
            times += 1;
            tokio::time::sleep(RETRY_BACKOFF.wait(times, random())).await;
        }
    }

    /// True if an attempt that ran out of time was waiting for a store that is away, and not for a slow call.
    pub(super) async fn waited(&self, store: &Store) -> bool {
        if !self.0.asks.load(Ordering::Relaxed) {
            return false;
        }
        self.0.is_away.load(Ordering::Relaxed) || !matches!(timeout(ANSWER_TIMEOUT, store.health().ping()).await, Ok(Ok(())))
    }
}
