use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{Making, Room, SHARES, STUCK, Size};
use crate::rpc::limits::Limits;

/// An answer that is made: in the room of the connection, of its address and the server. A small one needs none.
pub(in crate::rpc) type Permits = Vec<Making>;

/// What one connection holds, and how long it has been silent.
#[derive(Debug)]
pub(in crate::rpc) struct Account {
    /// Of the connection, of its address, of the server.
    pub(super) rooms: [Arc<Room>; 3],
    /// Bytes of answers that are made and not written. Parts of batches are not among them until all are made.
    pub(super) unsent: AtomicU64,
    opened: Instant,
    /// When the peer last gave a sign of life, in ms after `opened`.
    heard_ms: AtomicU64,
    /// Since when it takes nothing, in ms after `opened`; 0 if it does.
    stuck_ms: AtomicU64,
    /// Told when the connection holds less.
    pub(super) less: Notify,
    /// How long a request waits for room that others hold.
    pub(super) patience: Duration,
    ended: CancellationToken,
}

impl Account {
    /// The account of a new connection.
    pub(in crate::rpc) fn open(limits: &Limits, address: &Arc<Room>, server: &Arc<Room>) -> Arc<Self> {
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
    pub(in crate::rpc) fn heard(&self) {
        self.heard_ms.store(self.now_ms(), Ordering::Release);
    }

    /// How long the peer has given no sign of life.
    pub(in crate::rpc) fn silence(&self) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(self.heard_ms.load(Ordering::Acquire)))
    }

    /// Notes that the peer takes nothing now.
    pub(in crate::rpc) fn stuck(&self) {
        // Since the first time.
        let _ = self.stuck_ms.compare_exchange(0, self.now_ms(), Ordering::AcqRel, Ordering::Acquire);
    }

    pub(super) fn is_stuck(&self) -> bool {
        let since = self.stuck_ms.load(Ordering::Acquire);
        since > 0 && self.now_ms().saturating_sub(since) >= u64::try_from(STUCK.as_millis()).unwrap_or(u64::MAX)
    }

    /// Has the connection closed.
    pub(in crate::rpc) fn end(&self) {
        self.ended.cancel();
    }

    /// Ends when the connection has to be closed.
    pub(in crate::rpc) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Bytes of answers that are made and not written.
    pub(in crate::rpc) fn unsent(&self) -> u64 {
        self.unsent.load(Ordering::Acquire)
    }

    /// Counts an answer that was made.
    pub(in crate::rpc) fn made(&self, bytes: usize) {
        // The rooms first: what is unsent may be given back at once.
        for room in &self.rooms {
            room.hold(bytes as u64);
        }
        self.unsent.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// Counts bytes that the peer took. Frames and heads are not counted when they are made, so this may be more.
    pub(in crate::rpc) fn written(&self, bytes: usize) {
        if self.stuck_ms.swap(0, Ordering::AcqRel) > 0 {
            self.heard();
        }
        self.dropped(bytes);
    }

    /// Counts an answer that is not sent after all.
    pub(in crate::rpc) fn dropped(&self, bytes: usize) {
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
    pub(super) fn free(&self, bytes: u64) {
        for room in &self.rooms {
            room.free(bytes);
        }
        self.less.notify_waiters();
    }

    /// Whether a call with a small answer may begin at once: what others of its address hold does not matter to who holds little.
    pub(in crate::rpc) fn has_room(&self, in_batch: bool) -> bool {
        let [here, address, _] = &self.rooms;
        here.is_open(in_batch) && (address.is_open(in_batch) || here.holds_little())
    }

    /// Whether there is room for an answer that is there already, whatever its size.
    pub(in crate::rpc) fn is_open(&self, in_batch: bool) -> bool {
        self.rooms.iter().all(|room| room.is_open(in_batch))
    }

    /// Waits until a call whose answer has this size may begin. It may be made as long as the result lives.
    pub(in crate::rpc) async fn admit(&self, size: Size, in_batch: bool) -> Permits {
        if in_batch {
            return self.admit_part(size).await;
        }
        let mut permits = self.admit_here(size, false).await;
        permits.extend(self.admit_there(size, false).await);
        permits
    }

    /// The same for a part of a batch. It holds nothing while batches have no room, as other calls wait for what it would hold.
    async fn admit_part(&self, size: Size) -> Permits {
        loop {
            for room in &self.rooms {
                let is_enough = || size == Size::Small && self.rooms[0].holds_little();
                room.wait_until(|| !room.is_full_of_parts() || is_enough()).await;
            }
            let mut permits = self.admit_here(size, true).await;
            permits.extend(self.admit_there(size, true).await);
            // Others may have begun meanwhile.
            if size == Size::Small || !self.rooms.iter().any(|room| room.is_full_of_parts()) {
                return permits;
            }
        }
    }

    /// Waits for what the connection itself holds. Its reader and its own calls decide how long that takes.
    pub(in crate::rpc) async fn admit_here(&self, size: Size, in_batch: bool) -> Permits {
        let [here, ..] = &self.rooms;
        if size == Size::Small {
            here.wait().await;
            return Vec::new();
        }
        vec![here.admit(size, in_batch).await]
    }

    /// Waits for what the address and the server hold.
    pub(in crate::rpc) async fn admit_there(&self, size: Size, in_batch: bool) -> Permits {
        let [here, address, server] = &self.rooms;
        if size == Size::Small {
            tokio::select! {
                () = address.wait() => {}
                () = here.wait_until(|| here.holds_little()) => {}
            }
            return Vec::new();
        }
        vec![address.admit(size, in_batch).await, server.admit(size, in_batch).await]
    }

    /// Waits until a subscription may send its next item; gives false when the peer does not take what lies ready within `patience`.
    ///
    /// Only answers and items tell a slow reader. What its address holds besides makes it wait, too, but is not its fault.
    pub(in crate::rpc) async fn admit_item(&self, patience: Duration) -> bool {
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
}

impl Drop for Account {
    fn drop(&mut self) {
        let unsent = *self.unsent.get_mut();
        for room in &self.rooms {
            room.free(unsent);
        }
    }
}
