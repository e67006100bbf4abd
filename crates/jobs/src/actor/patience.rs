use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::random;
use tokio::time::timeout;

use crate::dispatch::Error;
use hero_model::Backoff;
use hero_store::{self as store, Store};

/// How long to wait before the store is asked again, at first and at most.
const AGAIN: Backoff = Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(1) };

/// A store that does not answer for so long is away.
const ANSWERS: Duration = Duration::from_secs(1);

/// Asks the store on behalf of one attempt, and goes on asking while that is away: whoever asks is dropped with the attempt, whose timeout is
/// the end of it.
///
/// What is asked here has to come to the same however often it is: it only reads, or says which host call it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Patience(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// Whether a host call is not answered yet, and whether the store was away when it was asked last.
    asks: AtomicBool,
    is_away: AtomicBool,
}

/// Why something cannot be done, if that may pass by itself.
pub(super) trait Passing {
    /// Whether to ask again.
    fn passes(&self) -> bool;

    /// Whether that is because the store is away.
    fn is_away(&self) -> bool;
}

impl Passing for store::Error {
    fn passes(&self) -> bool {
        // A full memory is for people, and jobs wait for what these do.
        self.may_pass() && !self.out_of_memory()
    }

    fn is_away(&self) -> bool {
        self.passes()
    }
}

impl Passing for Error {
    fn passes(&self) -> bool {
        match self {
            Self::Store { source, .. } => source.passes(),
            // Others wait for the store, too.
            Self::Busy { .. } => true,
            _ => false,
        }
    }

    fn is_away(&self) -> bool {
        matches!(self, Self::Store { source, .. } if source.passes())
    }
}

impl Patience {
    /// Asks until there is an answer, or an error that does not pass.
    pub(super) async fn ask<T, E: Passing, Asking>(&self, asking: impl Fn() -> Asking) -> Result<T, E>
    where
        Asking: Future<Output = Result<T, E>>,
    {
        let mut times = 0;
        self.0.asks.store(true, Ordering::Relaxed);
        loop {
            let answer = asking().await;
            if !answer.as_ref().is_err_and(Passing::passes) {
                self.0.asks.store(false, Ordering::Relaxed);
                self.0.is_away.store(false, Ordering::Relaxed);
                return answer;
            }
            self.0.is_away.store(answer.is_err_and(|error| error.is_away()), Ordering::Relaxed);
            times += 1;
            tokio::time::sleep(AGAIN.wait(times, random())).await;
        }
    }

    /// Whether an attempt that was ended waited for the store because that is away, and not because what it asked takes long.
    pub(super) async fn waited(&self, store: &Store) -> bool {
        if !self.0.asks.load(Ordering::Relaxed) {
            return false;
        }
        self.0.is_away.load(Ordering::Relaxed) || !matches!(timeout(ANSWERS, store.health().ping()).await, Ok(Ok(())))
    }
}
