//! Counts the memory that the server uses for its clients: requests that arrive or are being answered, and answers that are not sent yet.
//! The settings `held`, `held_per_address` and `held_per_connection` limit it.
//!
//! Every byte is counted in three budgets: those of the connection, of its address and of the server. A request waits for room in them. In
//! the budget of its connection it waits without a limit, which slows down only the client that sends so much. In the other two it waits
//! for a while, and is then refused.
//!
//! The length of an answer is known only when it is complete. So a call waits for room before it begins. If its answer may be large, it
//! also waits for shares of the large answers that may be created at once. Such calls are admitted one after the other, and an estimate is
//! reserved for each.
//!
//! The answers of a batch stay in memory until the last one is complete, which may take as long as a job. So batches get half of each
//! budget, and no other call waits for them: answers of a batch that find no room are refused after a while.
//!
//! Where callers must log in, callers without a login share a small part of the budgets of addresses and of the server; the others share
//! the rest. So callers without a token cannot keep them waiting.

mod arrival;
mod batch;
mod connection;
mod divided;
mod request;
mod shortage;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

pub(super) use arrival::Arrival;
pub use batch::BatchAnswers;
pub(super) use batch::BatchExcess;
pub(super) use connection::{AnswerReservations, ConnectionMemory};
pub(super) use divided::{Divided, Side};
pub(super) use request::RequestReservation;
use shortage::Shortage;

/// The expected size of the answer of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Size {
    /// A few words.
    #[default]
    Small,
    /// One job with its script and its result.
    Medium,
    /// Up to the limit for answers.
    Large,
}

impl Size {
    /// Returns the number of [`SHARES`] that such an answer takes.
    const fn shares(self) -> u32 {
        match self {
            Self::Small => 0,
            Self::Medium => 1,
            Self::Large => 8,
        }
    }

    /// Returns the number of bytes that are reserved for such an answer while it is created.
    const fn estimate(self) -> u64 {
        match self {
            Self::Small => 0,
            Self::Medium => 256 * 1024,
            Self::Large => 1024 * 1024,
        }
    }
}

/// The number of shares of a connection, an address and the server: enough for two, four and eight large answers at once.
const SHARES: [u32; 3] = [16, 32, 64];
/// A connection that reads nothing for this long, or whose request stalls, is closed when others wait for room.
const STUCK_AFTER: Duration = Duration::from_secs(1);

/// A request that waits for room checks again after this time.
const RECHECK_INTERVAL: Duration = Duration::from_millis(250);

/// A request up to this size does not wait for room in the budget of the server.
const SMALL_REQUEST_BYTES: u64 = 64 * 1024;

/// A connection that uses no more than this does not wait for room in the budget of its address.
const TINY_CONNECTION_BYTES: u64 = 16 * 1024;

/// Registers the counters of this module, so that they show before the first event.
pub(super) fn announce() {
    for setting in ["held", "held_per_address", "held_per_connection"] {
        metrics::counter!("hero_rpc_held_full_total", "setting" => setting).increment(0);
    }
    metrics::counter!("hero_rpc_made_way_total").increment(0);
}

/// A number of bytes that may be in memory at once.
#[derive(Debug)]
pub(super) struct Budget {
    /// The setting that limits it.
    setting: &'static str,
    /// The side that uses it, if several connections share it.
    of: Option<Side>,
    used: AtomicU64,
    /// The bytes used by answers of unfinished batches.
    used_by_batches: AtomicU64,
    limit: u64,
    /// Notified when there is room again.
    freed: Notify,
    shares: Arc<Semaphore>,
    /// The queue of calls with large answers, so that one of them begins as soon as there is room.
    queue: tokio::sync::Mutex<()>,
    connections: Mutex<Vec<Weak<ConnectionMemory>>>,
}

impl Budget {
    fn new((setting, of): (&'static str, Option<Side>), limit: u64, shares: u32) -> Arc<Self> {
        let shares = Arc::new(Semaphore::new(shares as usize));
        Arc::new(Self {
            setting,
            of,
            used: AtomicU64::new(0),
            used_by_batches: AtomicU64::new(0),
            limit,
            freed: Notify::new(),
            shares,
            queue: tokio::sync::Mutex::default(),
            connections: Mutex::default(),
        })
    }

    /// Reserves bytes for a request, unless that would fill the budget. So requests alone never keep calls waiting.
    fn try_reserve(&self, bytes: u64) -> bool {
        let next = |used: u64| used.checked_add(bytes).filter(|sum| *sum < self.limit);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    fn reserve(&self, bytes: u64) {
        self.used.fetch_add(bytes, Ordering::AcqRel);
    }

    fn free(&self, bytes: u64) {
        let before = self.used.fetch_sub(bytes, Ordering::AcqRel);
        let falls_below = |mark: u64| before >= mark && before - bytes < mark;
        if falls_below(self.limit) || falls_below(self.low_mark()) {
            self.freed.notify_waiters();
        }
    }

    fn reserve_for_batch(&self, bytes: u64) {
        self.used_by_batches.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Stops counting bytes for batches: they were freed, or now count as an answer that is not sent yet.
    fn free_for_batch(&self, bytes: u64) {
        let (before, most) = (self.used_by_batches.fetch_sub(bytes, Ordering::AcqRel), self.limit / 2);
        if before >= most && before - bytes < most {
            self.freed.notify_waiters();
        }
    }

    /// Returns the amount of usage that counts as little. A subscription may have this much data ready but not sent.
    const fn low_mark(&self) -> u64 {
        self.limit / 16
    }

    fn is_low(&self) -> bool {
        self.used.load(Ordering::Acquire) < self.low_mark()
    }

    fn is_nearly_empty(&self) -> bool {
        self.used.load(Ordering::Acquire) <= TINY_CONNECTION_BYTES.min(self.low_mark())
    }

    fn is_full(&self) -> bool {
        self.used.load(Ordering::Acquire) >= self.limit
    }

    /// Whether batches use their whole part.
    fn is_full_of_batches(&self) -> bool {
        self.used_by_batches.load(Ordering::Acquire) >= self.limit / 2
    }

    /// Whether the budget has room for an answer, or for one of a batch.
    fn accepts(&self, in_batch: bool) -> bool {
        !(self.is_full() || in_batch && self.is_full_of_batches())
    }

    /// Whether batches use so much that some of them must end. Their estimates alone do not cause that.
    fn has_too_much_for_batches(&self) -> bool {
        self.used_by_batches.load(Ordering::Acquire) >= self.limit / 4 * 3
    }

    /// Waits until it is not full. Connections that read nothing are closed meanwhile.
    async fn wait(&self) {
        self.wait_until(|| !self.is_full()).await;
    }

    async fn wait_until(&self, is_ready: impl Fn() -> bool) {
        let mut shortage = Shortage::default();
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if is_ready() {
                return;
            }
            if tokio::time::timeout(STUCK_AFTER, freed).await.is_err() && self.is_full() {
                shortage.note(self);
                self.evict();
            }
        }
    }

    /// Waits for the call's turn, for room, and for shares.
    async fn admit(self: &Arc<Self>, size: Size, in_batch: bool) -> AnswerReservation {
        let _turn = self.queue.lock().await;
        // Calls with shares do not wait here, and end at some time. So this wait ends, too.
        let share = Arc::clone(&self.shares).acquire_many_owned(size.shares()).await.expect("nobody closes the semaphore");
        self.wait().await;
        self.reserve_answer(size, in_batch, share)
    }

    fn reserve_answer(self: &Arc<Self>, size: Size, in_batch: bool, share: OwnedSemaphorePermit) -> AnswerReservation {
        // The estimate for batches is high, to limit them. In a small budget it is lower, because estimates alone must not fill it.
        let bytes = if in_batch { (4 * size.estimate()).min(2 * self.low_mark()) } else { size.estimate().min(self.low_mark()) };
        self.reserve(bytes);
        let of_batch = if in_batch { bytes } else { 0 };
        self.reserve_for_batch(of_batch);
        AnswerReservation { budget: Arc::clone(self), bytes, of_batch, _share: share }
    }

    /// Reserves bytes, and waits for room until `deadline` at most. Connections that read nothing, or whose requests stall, are closed
    /// meanwhile.
    ///
    /// Several requests may share all the room in parts while each waits for its rest, so that none can go on. Then the one with the
    /// largest part gives up.
    async fn reserve_by(&self, bytes: u64, deadline: Instant, asking: &ConnectionMemory) -> bool {
        if self.try_reserve(bytes) {
            return true;
        }
        asking.waits(true);
        let reserved = self.reserve_waiting(bytes, deadline, asking).await;
        asking.waits(false);
        reserved
    }

    async fn reserve_waiting(&self, bytes: u64, deadline: Instant, asking: &ConnectionMemory) -> bool {
        let asked = Instant::now();
        let mut shortage = Shortage::default();
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.try_reserve(bytes) {
                return true;
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            if now - asked >= STUCK_AFTER {
                shortage.note(self);
                if !self.evict() && self.gives_up(asking) {
                    return false;
                }
            }
            // The server reads nothing from the connection meanwhile, so the connection must not count as silent.
            asking.heard();
            // This loop checks again after a while in any case, because small amounts are freed without a notification.
            let _ = tokio::time::timeout(RECHECK_INTERVAL.min(deadline - now), freed).await;
        }
    }

    /// Whether requests that wait for their rest use nearly all the room, and this connection has the largest part.
    fn gives_up(&self, asking: &ConnectionMemory) -> bool {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting: Vec<_> = connections.iter().filter_map(Weak::upgrade).filter(|connection| connection.waits_in(self)).collect();
        let parts: u64 = waiting.iter().map(|connection| connection.used()).sum();
        let largest = waiting.iter().max_by_key(|connection| (connection.used(), Arc::as_ptr(connection)));
        waiting.len() > 1 && parts >= self.limit / 4 * 3 && largest.is_some_and(|largest| std::ptr::eq(&**largest, asking))
    }

    /// Closes the connection that uses most, of those that read nothing or whose requests stall. Returns whether there was one.
    fn evict(&self) -> bool {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let stuck = connections.iter().filter_map(Weak::upgrade).filter(|connection| connection.is_in_the_way(self));
        if let Some(connection) = stuck.max_by_key(|connection| connection.used()) {
            metrics::counter!("hero_rpc_made_way_total").increment(1);
            tracing::debug!(
                used = connection.used(),
                "a connection that reads nothing or sends slowly is closed, because others wait for room"
            );
            connection.end();
            return true;
        }
        false
    }

    /// Registers a connection, which may be closed when others wait for room.
    fn register(&self, connection: &Arc<ConnectionMemory>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if connections.len() == connections.capacity() {
            connections.retain(|connection| connection.strong_count() > 0);
        }
        connections.push(Arc::downgrade(connection));
    }
}

/// The shares and estimated bytes in one budget that are reserved for an answer while it is created.
#[derive(Debug)]
pub(super) struct AnswerReservation {
    budget: Arc<Budget>,
    bytes: u64,
    of_batch: u64,
    _share: OwnedSemaphorePermit,
}

impl Drop for AnswerReservation {
    fn drop(&mut self) {
        self.budget.free_for_batch(self.of_batch);
        self.budget.free(self.bytes);
    }
}

#[cfg(test)]
mod tests;
