use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};

use super::caller_semaphores::CallerSemaphores;
use crate::Error;
use crate::network::deadline::DEADLINE;

/// The wait for each relation that was followed: three to five times the 5 to 8 µs that it took Redis, so that most of Redis' time is left
/// to others.
const WAIT_PER_RELATION: Duration = Duration::from_micros(25);
/// The debt that is allowed without a wait: one long walk, or many short ones.
const MAX_DEBT: Duration = Duration::from_millis(100);
/// The longest time that a job waits while relations of others are followed. Its caller is told before it gives up.
const MAX_WAIT: Duration = Duration::from_secs(3);
/// A job that waited too long is refused as busy only if relations of others took at least this long meanwhile; otherwise Redis was slow.
const MIN_BLAMED_TIME: Duration = Duration::from_secs(1);
/// The room of one caller in the waiting line.
const ROOM_OF_CALLER: usize = 100;
/// The part of that room that a request with a call of its own takes. Creates share calls, and take 1 each.
const LONE_REQUEST_COST: u32 = 12;

/// The time that Redis may spend on following relations. A request that made Redis follow many relations delays all later ones, even if its
/// job was not stored.
pub(crate) struct RelationBudget {
    paid: Mutex<Paid>,
    /// The lock that is held by the request that waits or follows.
    line: tokio::sync::Mutex<()>,
    callers: CallerSemaphores,
    /// The caller whose creates went into the last call.
    last: Mutex<String>,
}

struct Paid {
    until: Instant,
    /// The total price so far.
    price: Duration,
}

/// The state when a request entered the line.
#[derive(Clone, Copy)]
pub(crate) struct Since {
    came: Instant,
    price: Duration,
}

impl Default for RelationBudget {
    fn default() -> Self {
        let paid = Mutex::new(Paid { until: Instant::now(), price: Duration::ZERO });
        Self { paid, line: tokio::sync::Mutex::default(), callers: CallerSemaphores::new(ROOM_OF_CALLER), last: Mutex::default() }
    }
}

impl RelationBudget {
    fn paid(&self) -> MutexGuard<'_, Paid> {
        self.paid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state for a request that enters the line.
    pub(crate) fn since(&self) -> Since {
        Since { came: Instant::now(), price: self.paid().price }
    }

    /// Whether a request has waited too long, because of relations of others.
    pub(crate) fn is_late(&self, since: Since) -> bool {
        since.came.elapsed() > MAX_WAIT && self.paid().price - since.price > MIN_BLAMED_TIME
    }

    /// Waits in line until all relations followed so far are paid for. Relations are followed while this lock is held.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        let turn = self.line.lock().await;
        let from = self.paid().until.checked_sub(MAX_DEBT);
        if let Some(from) = from {
            sleep_until(from).await;
        }
        turn
    }

    /// Waits for room in the line: each caller has only a limited share.
    pub(crate) async fn room_in_line(&self, caller: &str, room: u32) -> OwnedSemaphorePermit {
        self.callers.take(caller, room).await
    }

    /// Runs something for a caller when it is its turn; nothing if the relations of others took too long.
    pub(crate) async fn in_turn<T>(&self, caller: &str, follow: impl Future<Output = Result<T, Error>>) -> Result<Option<T>, Error> {
        let since = self.since();
        let waiting = async {
            let room = self.room_in_line(caller, LONE_REQUEST_COST).await;
            (room, self.turn().await)
        };
        match self.patiently(since, waiting).await? {
            Some(_turn) => follow.await.map(Some),
            None => Ok(None),
        }
    }

    /// Waits in line for something. Returns nothing if relations of others took too long.
    pub(crate) async fn patiently<T>(&self, since: Since, waiting: impl Future<Output = T>) -> Result<Option<T>, Error> {
        tokio::pin!(waiting);
        if let Ok(turn) = timeout(MAX_WAIT, &mut waiting).await {
            return Ok(Some(turn));
        }
        if self.is_late(since) {
            return Ok(None);
        }
        timeout(DEADLINE - MAX_WAIT, waiting).await.map(Some).map_err(|_| Error::Deadline(DEADLINE))
    }

    /// Chooses the caller whose creates go into the next call. Following the relations of one of its jobs serves its others, too.
    pub(crate) fn next_caller<'a>(&self, callers: impl Iterator<Item = &'a str> + Clone) -> String {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let callers = || callers.clone();
        let next = callers().filter(|caller| *caller > last.as_str()).min().or_else(|| callers().min());
        next.unwrap_or_default().clone_into(&mut last);
        last.clone()
    }

    /// Charges for the relations that were followed.
    pub(crate) fn pay(&self, followed: u32) {
        let mut paid = self.paid();
        paid.until = Instant::now().max(paid.until) + WAIT_PER_RELATION * followed;
        paid.price += WAIT_PER_RELATION * followed;
    }
}
