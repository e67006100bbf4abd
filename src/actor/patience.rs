use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rand::random;

use crate::dispatch::Error;
use crate::model::Backoff;
use crate::store;

/// How long to wait before the store is asked again, at first and at most.
const AGAIN: Backoff = Backoff { first: Duration::from_millis(50), longest: Duration::from_secs(1) };

/// Asks the store on behalf of one attempt, and goes on asking while that is away: whoever asks is dropped with the attempt, whose timeout is
/// the end of it.
///
/// What is asked here has to come to the same however often it is: it only reads, or says which question it is.
#[derive(Debug, Clone, Default)]
pub(super) struct Patience(Arc<AtomicBool>);

/// Why something cannot be done, if that may pass by itself.
pub(super) trait Passing {
    /// Whether to ask again.
    fn passes(&self) -> bool;
}

impl Passing for store::Error {
    fn passes(&self) -> bool {
        // A full memory is for people, and jobs wait for what these do.
        self.may_pass() && !self.out_of_memory()
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
}

impl Patience {
    /// Asks until there is an answer, or an error that does not pass.
    pub(super) async fn ask<T, E: Passing, Asking>(&self, asking: impl Fn() -> Asking) -> Result<T, E>
    where
        Asking: Future<Output = Result<T, E>>,
    {
        let mut times = 0;
        loop {
            let answer = asking().await;
            if !answer.as_ref().is_err_and(Passing::passes) {
                self.0.store(false, Ordering::Relaxed);
                return answer;
            }
            self.0.store(true, Ordering::Relaxed);
            times += 1;
            tokio::time::sleep(AGAIN.wait(times, random())).await;
        }
    }

    /// Whether the attempt waits for the store, or did until it was ended.
    pub(super) fn waits(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
