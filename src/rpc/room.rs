//! How many bytes the server holds for its clients: requests that arrive or are answered, and answers that nobody has read yet.
//!
//! Counted three times: for a connection, for its address and for the server. A request waits for room: in that of its connection
//! until there is some, as whoever pipelines is slowed down by that and nobody else; in the others for a while, then it is refused.
//! The length of an answer is known only when it is made, so a call waits before it begins: for room, and if its answer may be
//! large also for a share of those that may be made at once; these begin one after the other, and an estimate is counted for each.
//!
//! The parts of a batch lie ready until the last is made, which may take as long as a job. So they get half of each room, and who
//! waits for them is never anybody else: parts that find no room are refused after a while.

mod account;
mod held;
mod parts;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::limits::Limits;
pub(super) use account::{Account, Permits};
pub(super) use held::Held;
pub use parts::Parts;
pub(super) use parts::Surplus;

/// How large the answer of a method may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Size {
    /// A few words.
    #[default]
    Small,
    /// One job with its script and its result.
    Medium,
    /// As large as answers may be.
    Large,
}

impl Size {
    /// How many of the shares below such an answer takes.
    const fn shares(self) -> u32 {
        match self {
            Self::Small => 0,
            Self::Medium => 1,
            Self::Large => 8,
        }
    }

    /// So many bytes are counted for such an answer while it is made.
    const fn estimate(self) -> u64 {
        match self {
            Self::Small => 0,
            Self::Medium => 256 * 1024,
            Self::Large => 1024 * 1024,
        }
    }
}

/// So many shares has a connection, an address and the server: two, four and eight large answers at once.
const SHARES: [u32; 3] = [16, 32, 64];
/// A connection that takes nothing for so long makes way when others wait for room.
const STUCK: Duration = Duration::from_secs(1);

/// A request without room looks again after so long.
const LOOK: Duration = Duration::from_millis(250);

/// A request of this size is refused only if its own address holds too much, and its connection not slightly.
const MODEST: u64 = 64 * 1024;

/// A connection that holds no more than this gets its requests read however much its address holds.
const SLIGHT: u64 = 16 * 1024;

/// Bytes that are held, with a limit.
#[derive(Debug)]
pub(super) struct Room {
    held: AtomicU64,
    /// How much of that is held for batches that are not done.
    parts: AtomicU64,
    limit: u64,
    /// Told when there is room again.
    freed: Notify,
    shares: Arc<Semaphore>,
    /// Where calls with large answers stand until there is room, so that a little of it lets one of them begin.
    line: tokio::sync::Mutex<()>,
    accounts: Mutex<Vec<Weak<Account>>>,
}

impl Room {
    fn new(limit: u64, shares: u32) -> Arc<Self> {
        let shares = Arc::new(Semaphore::new(shares as usize));
        Arc::new(Self {
            held: AtomicU64::new(0),
            parts: AtomicU64::new(0),
            limit,
            freed: Notify::new(),
            shares,
            line: tokio::sync::Mutex::default(),
            accounts: Mutex::default(),
        })
    }

    /// The room of the whole server.
    pub(super) fn of_server(limits: &Limits) -> Arc<Self> {
        Self::new(limits.held, SHARES[2])
    }

    /// The room of one address.
    pub(super) fn of_address(limits: &Limits) -> Arc<Self> {
        Self::new(limits.held_per_address, SHARES[1])
    }

    /// Holds what a request needs. Requests alone never make it full, so their calls do not wait for each other.
    fn try_hold(&self, bytes: u64) -> bool {
        let next = |held: u64| held.checked_add(bytes).filter(|sum| *sum < self.limit);
        self.held.fetch_update(Ordering::AcqRel, Ordering::Acquire, next).is_ok()
    }

    fn hold(&self, bytes: u64) {
        self.held.fetch_add(bytes, Ordering::AcqRel);
    }

    fn free(&self, bytes: u64) {
        let before = self.held.fetch_sub(bytes, Ordering::AcqRel);
        let falls_below = |mark: u64| before >= mark && before - bytes < mark;
        if falls_below(self.limit) || falls_below(self.little()) {
            self.freed.notify_waiters();
        }
    }

    fn hold_part(&self, bytes: u64) {
        self.parts.fetch_add(bytes, Ordering::AcqRel);
    }

    /// What was held for a batch is held for nobody, or as an answer like any other.
    fn free_part(&self, bytes: u64) {
        let (before, most) = (self.parts.fetch_sub(bytes, Ordering::AcqRel), self.limit / 2);
        if before >= most && before - bytes < most {
            self.freed.notify_waiters();
        }
    }

    /// What may lie ready for a reader that did not ask for each piece.
    const fn little(&self) -> u64 {
        self.limit / 16
    }

    fn holds_little(&self) -> bool {
        self.held.load(Ordering::Acquire) < self.little()
    }

    fn holds_slightly(&self) -> bool {
        self.held.load(Ordering::Acquire) <= SLIGHT.min(self.little())
    }

    fn is_full(&self) -> bool {
        self.held.load(Ordering::Acquire) >= self.limit
    }

    /// Whether nothing more is made for batches.
    fn is_full_of_parts(&self) -> bool {
        self.parts.load(Ordering::Acquire) >= self.limit / 2
    }

    /// Whether an answer, or one of a batch, may be made.
    fn is_open(&self, in_batch: bool) -> bool {
        !(self.is_full() || in_batch && self.is_full_of_parts())
    }

    /// Whether batches hold more than they may even if all that was begun is large.
    fn has_too_many_parts(&self) -> bool {
        self.parts.load(Ordering::Acquire) >= self.limit / 4 * 3
    }

    /// Waits until it is not full. Connections that take nothing make way for others.
    async fn wait(&self) {
        self.wait_until(|| !self.is_full()).await;
    }

    async fn wait_until(&self, is_ready: impl Fn() -> bool) {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if is_ready() {
                return;
            }
            if tokio::time::timeout(STUCK, freed).await.is_err() && self.is_full() {
                self.evict();
            }
        }
    }

    /// Waits for its turn, until it is not full, and for shares.
    async fn admit(self: &Arc<Self>, size: Size, in_batch: bool) -> Making {
        let _turn = self.line.lock().await;
        // Whoever has shares makes an answer, which has an end, or has got further than this.
        let share = Arc::clone(&self.shares).acquire_many_owned(size.shares()).await.expect("nobody closes the semaphore");
        self.wait().await;
        self.making(size, in_batch, share)
    }

    fn making(self: &Arc<Self>, size: Size, in_batch: bool, share: OwnedSemaphorePermit) -> Making {
        // What batches hold may not become too much, so it is guessed high. In a small room, less: estimates alone must not make it full.
        let bytes = if in_batch { (4 * size.estimate()).min(2 * self.little()) } else { size.estimate().min(self.little()) };
        self.hold(bytes);
        let of_batch = if in_batch { bytes } else { 0 };
        self.hold_part(of_batch);
        Making { room: Arc::clone(self), bytes, of_batch, _share: share }
    }

    /// Holds so many bytes, and waits for room at most until `deadline`. Connections that take nothing make way.
    async fn hold_by(&self, bytes: u64, deadline: Instant, asking: &Account) -> bool {
        let asked = Instant::now();
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.try_hold(bytes) {
                return true;
            }
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            if now - asked >= STUCK {
                self.evict();
            }
            // Nothing is read meanwhile, so its silence says nothing.
            asking.heard();
            // Told or not: room may be freed in pieces that are no news.
            let _ = tokio::time::timeout(LOOK.min(deadline - now), freed).await;
        }
    }

    /// Ends the connection that holds most of those that take nothing.
    fn evict(&self) {
        let accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        let stuck = accounts.iter().filter_map(Weak::upgrade).filter(|account| account.is_stuck());
        if let Some(account) = stuck.max_by_key(|account| account.unsent()) {
            tracing::debug!(unsent = account.unsent(), "a connection that reads nothing is closed, because others wait for room");
            account.end();
        }
    }

    fn enter(&self, account: &Arc<Account>) {
        let mut accounts = self.accounts.lock().unwrap_or_else(PoisonError::into_inner);
        if accounts.len() == accounts.capacity() {
            accounts.retain(|account| account.strong_count() > 0);
        }
        accounts.push(Arc::downgrade(account));
    }
}

/// An answer that is made: its shares and its estimate in one room.
#[derive(Debug)]
pub(super) struct Making {
    room: Arc<Room>,
    bytes: u64,
    of_batch: u64,
    _share: OwnedSemaphorePermit,
}

impl Drop for Making {
    fn drop(&mut self) {
        self.room.free_part(self.of_batch);
        self.room.free(self.bytes);
    }
}

#[cfg(test)]
mod tests;
