use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};

use super::Error;
use super::caller_rooms::CallerRooms;
use super::deadline::DEADLINE;

/// How long one has to wait for each relation that was followed: three to five times the 5 to 8 µs that it took Redis, so that following leaves
/// most of the time of Redis to others.
const PRICE: Duration = Duration::from_micros(25);
/// How much may be owed without a wait: one long walk, or many short ones.
const CREDIT: Duration = Duration::from_millis(100);
/// How long a job waits for the relations of others to be followed. Whoever asked for it is told before giving up.
const PATIENCE: Duration = Duration::from_secs(3);
/// A job that waited too long is refused as busy only if at least this much was followed for others meanwhile; otherwise Redis was slow.
const BLAME: Duration = Duration::from_secs(1);
/// How much room one caller has in line.
const OF_A_CALLER: usize = 100;
/// How much of that room a request takes that is a call of its own. Creates share calls, and take 1 each.
const ALONE: u32 = 12;

/// How much Redis may do to follow relations. A request that made Redis follow many delays all that come after it, whether or not its job was
/// stored.
pub(super) struct RelationBudget {
    paid: Mutex<Paid>,
    /// Held by the one that waits or follows.
    line: tokio::sync::Mutex<()>,
    callers: CallerRooms,
    /// Whose creates went into the last call.
    last: Mutex<String>,
}

struct Paid {
    until: Instant,
    /// What was to be paid for, in all.
    price: Duration,
}

/// When a request came into the line.
#[derive(Clone, Copy)]
pub(super) struct Since {
    came: Instant,
    price: Duration,
}

impl Default for RelationBudget {
    fn default() -> Self {
        let paid = Mutex::new(Paid { until: Instant::now(), price: Duration::ZERO });
        Self { paid, line: tokio::sync::Mutex::default(), callers: CallerRooms::new(OF_A_CALLER), last: Mutex::default() }
    }
}

impl RelationBudget {
    fn paid(&self) -> MutexGuard<'_, Paid> {
        self.paid.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a request notes when it comes into the line.
    pub(super) fn since(&self) -> Since {
        Since { came: Instant::now(), price: self.paid().price }
    }

    /// Whether a request has waited too long, and for relations.
    pub(super) fn is_late(&self, since: Since) -> bool {
        since.came.elapsed() > PATIENCE && self.paid().price - since.price > BLAME
    }

    /// Waits in line until what was followed so far is paid for. Relations are followed while the turn is held.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        let turn = self.line.lock().await;
        let from = self.paid().until.checked_sub(CREDIT);
        if let Some(from) = from {
            sleep_until(from).await;
        }
        turn
    }

    /// Waits for room in line: each caller has only so much.
    pub(super) async fn room_in_line(&self, caller: &str, room: u32) -> OwnedSemaphorePermit {
        self.callers.take(caller, room).await
    }

    /// Does something for a caller when it is its turn; nothing if the relations of others took too long.
    pub(super) async fn in_turn<T>(&self, caller: &str, follow: impl Future<Output = Result<T, Error>>) -> Result<Option<T>, Error> {
        let since = self.since();
        let waiting = async {
            let room = self.room_in_line(caller, ALONE).await;
            (room, self.turn().await)
        };
        match self.patiently(since, waiting).await? {
            Some(_turn) => follow.await.map(Some),
            None => Ok(None),
        }
    }

    /// Waits for something in line. Nothing: relations of others took too long.
    pub(super) async fn patiently<T>(&self, since: Since, waiting: impl Future<Output = T>) -> Result<Option<T>, Error> {
        tokio::pin!(waiting);
        if let Ok(turn) = timeout(PATIENCE, &mut waiting).await {
            return Ok(Some(turn));
        }
        if self.is_late(since) {
            return Ok(None);
        }
        timeout(DEADLINE - PATIENCE, waiting).await.map(Some).map_err(|_| Error::Deadline(DEADLINE))
    }

    /// The caller whose creates go into the next call. What is followed for one of them serves its others.
    pub(super) fn next_caller<'a>(&self, callers: impl Iterator<Item = &'a str> + Clone) -> String {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let callers = || callers.clone();
        let next = callers().filter(|caller| *caller > last.as_str()).min().or_else(|| callers().min());
        next.unwrap_or_default().clone_into(&mut last);
        last.clone()
    }

    /// Notes that so many relations were followed.
    pub(super) fn pay(&self, followed: u32) {
        let mut paid = self.paid();
        paid.until = Instant::now().max(paid.until) + PRICE * followed;
        paid.price += PRICE * followed;
    }
}
