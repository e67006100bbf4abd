//! How many bytes the server holds for its clients: requests that arrive or are answered, and answers that nobody has read yet.
//!
//! Counted three times: for a connection, for its address and for the server. A request waits for room: in that of its connection
//! until there is some, as whoever pipelines is slowed down by that and nobody else; in the others for a while, then it is refused.
//! The length of an answer is known only when it is made, so a call waits before it begins: for room, and if its answer may be
//! large also for a share of those that may be made at once.

mod held;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::limits::Limits;
pub(super) use held::Held;

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
}

/// So many shares has a connection, an address and the server: two, four and eight large answers at once.
const SHARES: [u32; 3] = [16, 32, 64];
/// A connection that takes nothing for so long makes way when others wait for room.
const STUCK: Duration = Duration::from_secs(1);

/// A request without room looks again after so long.
const LOOK: Duration = Duration::from_millis(250);

/// A request of this size is refused only if its own address holds too much.
const MODEST: u64 = 64 * 1024;

/// Bytes that are held, with a limit.
#[derive(Debug)]
pub(super) struct Room {
    held: AtomicU64,
    limit: u64,
    /// Told when there is room again.
    freed: Notify,
    shares: Arc<Semaphore>,
    accounts: Mutex<Vec<Weak<Account>>>,
}

impl Room {
    fn new(limit: u64, shares: u32) -> Arc<Self> {
        let shares = Arc::new(Semaphore::new(shares as usize));
        Arc::new(Self { held: AtomicU64::new(0), limit, freed: Notify::new(), shares, accounts: Mutex::default() })
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
        if before >= self.limit && before - bytes < self.limit {
            self.freed.notify_waiters();
        }
    }

    /// What may lie ready for a reader that did not ask for each piece.
    const fn little(&self) -> u64 {
        self.limit / 16
    }

    fn is_full(&self) -> bool {
        self.held.load(Ordering::Acquire) >= self.limit
    }

    /// Waits until it is not full. Connections that take nothing make way for others.
    async fn wait(&self) {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if !self.is_full() {
                return;
            }
            if tokio::time::timeout(STUCK, freed).await.is_err() && self.is_full() {
                self.evict();
            }
        }
    }

    /// Waits for shares, and then until it is not full.
    async fn admit(&self, size: Size) -> OwnedSemaphorePermit {
        let permit = Arc::clone(&self.shares).acquire_many_owned(size.shares()).await;
        self.wait().await;
        permit.expect("nobody closes the semaphore")
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

/// The shares of an answer that is made: of the connection, of its address and the server.
pub(super) type Permits = (Option<OwnedSemaphorePermit>, Vec<OwnedSemaphorePermit>);

/// What one connection holds, and how long it has been silent.
#[derive(Debug)]
pub(super) struct Account {
    /// Of the connection, of its address, of the server.
    rooms: [Arc<Room>; 3],
    /// Bytes of answers that are made and not written.
    unsent: AtomicU64,
    opened: Instant,
    /// When the peer last gave a sign of life, in ms after `opened`.
    heard_ms: AtomicU64,
    /// Since when it takes nothing, in ms after `opened`; 0 if it does.
    stuck_ms: AtomicU64,
    /// Told when the connection holds less.
    less: Notify,
    /// How long a request waits for room that others hold.
    patience: Duration,
    ended: CancellationToken,
}

impl Account {
    /// The account of a new connection.
    pub(super) fn open(limits: &Limits, address: &Arc<Room>, server: &Arc<Room>) -> Arc<Self> {
        let account = Arc::new(Self {
            rooms: [Room::new(limits.held_per_connection, SHARES[0]), Arc::clone(address), Arc::clone(server)],
            unsent: AtomicU64::new(0),
            opened: Instant::now(),
            heard_ms: AtomicU64::new(0),
            stuck_ms: AtomicU64::new(0),
            less: Notify::new(),
            patience: limits.handler_timeout.duration(),
            ended: CancellationToken::new(),
        });
        for room in &account.rooms[1..] {
            room.enter(&account);
        }
        account
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Notes that the peer gave a sign of life.
    pub(super) fn heard(&self) {
        self.heard_ms.store(self.now_ms(), Ordering::Release);
    }

    /// How long the peer has given no sign of life.
    pub(super) fn silence(&self) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(self.heard_ms.load(Ordering::Acquire)))
    }

    /// Notes that the peer takes nothing now.
    pub(super) fn stuck(&self) {
        // Since the first time.
        let _ = self.stuck_ms.compare_exchange(0, self.now_ms(), Ordering::AcqRel, Ordering::Acquire);
    }

    fn is_stuck(&self) -> bool {
        let since = self.stuck_ms.load(Ordering::Acquire);
        since > 0 && self.now_ms().saturating_sub(since) >= u64::try_from(STUCK.as_millis()).unwrap_or(u64::MAX)
    }

    /// Has the connection closed.
    pub(super) fn end(&self) {
        self.ended.cancel();
    }

    /// Ends when the connection has to be closed.
    pub(super) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Bytes of answers that are made and not written.
    pub(super) fn unsent(&self) -> u64 {
        self.unsent.load(Ordering::Acquire)
    }

    /// Counts an answer that was made.
    pub(super) fn made(&self, bytes: usize) {
        // The rooms first: what is unsent may be given back at once.
        for room in &self.rooms {
            room.hold(bytes as u64);
        }
        self.unsent.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// Counts bytes that the peer took. Frames and heads are not counted when they are made, so this may be more.
    pub(super) fn written(&self, bytes: usize) {
        if self.stuck_ms.swap(0, Ordering::AcqRel) > 0 {
            self.heard();
        }
        self.dropped(bytes);
    }

    /// Counts an answer that is not sent after all.
    pub(super) fn dropped(&self, bytes: usize) {
        let bytes = bytes as u64;
        let less = |unsent: u64| Some(unsent.saturating_sub(bytes));
        let unsent = self.unsent.fetch_update(Ordering::AcqRel, Ordering::Acquire, less).unwrap_or_default();
        self.free(bytes.min(unsent));
        let [here, ..] = &self.rooms;
        if unsent >= here.little() && unsent.saturating_sub(bytes) < here.little() {
            here.freed.notify_waiters();
        }
    }

    /// Gives back what was held.
    fn free(&self, bytes: u64) {
        for room in &self.rooms {
            room.free(bytes);
        }
        self.less.notify_waiters();
    }

    /// Whether a call with a small answer may begin at once.
    pub(super) fn has_room(&self) -> bool {
        !self.rooms[..2].iter().any(|room| room.is_full())
    }

    /// Waits until a call whose answer has this size may begin. It may be made as long as the result lives.
    pub(super) async fn admit(&self, size: Size) -> Permits {
        (self.admit_here(size).await, self.admit_there(size).await)
    }

    /// Waits for what the connection itself holds. Its reader and its own calls decide how long that takes.
    pub(super) async fn admit_here(&self, size: Size) -> Option<OwnedSemaphorePermit> {
        let [here, ..] = &self.rooms;
        here.wait().await;
        if size == Size::Small { None } else { Some(here.admit(size).await) }
    }

    /// Waits for what the address and the server hold.
    pub(super) async fn admit_there(&self, size: Size) -> Vec<OwnedSemaphorePermit> {
        let [_, there @ ..] = &self.rooms;
        there[0].wait().await;
        let mut permits = Vec::new();
        if size != Size::Small {
            for room in there {
                permits.push(room.admit(size).await);
            }
        }
        permits
    }

    /// Waits until a subscription may send its next item; gives false when the peer does not take what lies ready within `patience`.
    ///
    /// Only answers and items tell a slow reader. What its address holds besides makes it wait, too, but is not its fault.
    pub(super) async fn admit_item(&self, patience: Duration) -> bool {
        if tokio::time::timeout(patience, self.taken()).await.is_err() {
            return false;
        }
        self.rooms[1].wait().await;
        true
    }

    /// Waits until little lies ready.
    async fn taken(&self) {
        let here = &self.rooms[0];
        loop {
            let freed = here.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.unsent() < here.little() {
                return;
            }
            freed.await;
        }
    }

    /// Begins to hold a request of no bytes yet.
    pub(super) fn request(self: &Arc<Self>) -> Held {
        Held::new(Arc::clone(self))
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let unsent = *self.unsent.get_mut();
        for room in &self.rooms {
            room.free(unsent);
        }
    }
}

#[cfg(test)]
mod tests;
