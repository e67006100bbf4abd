use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{AnswerReservation, Budget, SHARES, STUCK, Size};
use crate::rpc::limits::Limits;

/// What is reserved for an answer while it is made, in the budgets of the connection, its address and the server. Nothing for a small one.
pub(in crate::rpc) type AnswerReservations = Vec<AnswerReservation>;

/// What one connection has in memory, and when it last read or sent something.
#[derive(Debug)]
pub(in crate::rpc) struct Connection {
    /// The budgets of the connection, of its address and of the server.
    pub(super) budgets: [Arc<Budget>; 3],
    /// Bytes of answers that are made and not written. Those of a batch are not among them until all are made.
    pub(super) unsent: AtomicU64,
    opened: Instant,
    /// When something last came from the peer, in ms after `opened`.
    heard_ms: AtomicU64,
    /// Since when the peer reads nothing, in ms after `opened`; 0 if it reads.
    stuck_ms: AtomicU64,
    /// Notified when the connection has less in memory.
    pub(super) less: Notify,
    /// How long a request waits for room in the budgets of the address and the server.
    pub(super) time_limit: Duration,
    ended: CancellationToken,
}

impl Connection {
    /// A new connection.
    pub(in crate::rpc) fn open(limits: &Limits, address: &Arc<Budget>, server: &Arc<Budget>) -> Arc<Self> {
        let connection = Arc::new(Self {
            budgets: [Budget::new(limits.held_per_connection, SHARES[0]), Arc::clone(address), Arc::clone(server)],
            unsent: AtomicU64::new(0),
            opened: Instant::now(),
            heard_ms: AtomicU64::new(0),
            stuck_ms: AtomicU64::new(0),
            less: Notify::new(),
            time_limit: limits.handler_timeout.duration(),
            ended: CancellationToken::new(),
        });
        for budget in &connection.budgets[1..] {
            budget.register(&connection);
        }
        connection
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Notes that something came from the peer.
    pub(in crate::rpc) fn heard(&self) {
        self.heard_ms.store(self.now_ms(), Ordering::Release);
    }

    /// How long nothing has come from the peer.
    pub(in crate::rpc) fn silence(&self) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(self.heard_ms.load(Ordering::Acquire)))
    }

    /// Notes that the peer reads nothing now.
    pub(in crate::rpc) fn stuck(&self) {
        // Only the first time counts.
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

    /// Returns when the connection has to be closed.
    pub(in crate::rpc) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Bytes of answers that are made and not written.
    pub(in crate::rpc) fn unsent(&self) -> u64 {
        self.unsent.load(Ordering::Acquire)
    }

    /// Counts an answer that was made.
    pub(in crate::rpc) fn made(&self, bytes: usize) {
        // The budgets come first, because the bytes may be freed as soon as they count as unsent.
        for budget in &self.budgets {
            budget.reserve(bytes as u64);
        }
        self.unsent.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// Counts bytes that were written to the peer. They may be more than were made, because frames and headers are not counted there.
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
        let [here, ..] = &self.budgets;
        if unsent >= here.low_mark() && unsent.saturating_sub(bytes) < here.low_mark() {
            here.freed.notify_waiters();
        }
    }

    /// Frees bytes in all budgets.
    pub(super) fn free(&self, bytes: u64) {
        for budget in &self.budgets {
            budget.free(bytes);
        }
        self.less.notify_waiters();
    }

    /// Whether a call with a small answer may begin at once. A connection that uses little does not wait for others of its address.
    pub(in crate::rpc) fn has_room(&self, in_batch: bool) -> bool {
        let [here, address, _] = &self.budgets;
        here.accepts(in_batch) && (address.accepts(in_batch) || here.is_low())
    }

    /// Whether all budgets have room for an answer that is made already, whatever its size.
    pub(in crate::rpc) fn accepts(&self, in_batch: bool) -> bool {
        self.budgets.iter().all(|budget| budget.accepts(in_batch))
    }

    /// Waits until a call whose answer has this size may begin. The result is kept until the answer is made.
    pub(in crate::rpc) async fn admit(&self, size: Size, in_batch: bool) -> AnswerReservations {
        if in_batch {
            return self.admit_part(size).await;
        }
        let mut reservations = self.admit_here(size, false).await;
        reservations.extend(self.admit_there(size, false).await);
        reservations
    }

    /// The same for a call of a batch. While batches have no room it reserves nothing, because other calls could use that.
    async fn admit_part(&self, size: Size) -> AnswerReservations {
        loop {
            for budget in &self.budgets {
                let is_enough = || size == Size::Small && self.budgets[0].is_low();
                budget.wait_until(|| !budget.is_full_of_batches() || is_enough()).await;
            }
            let mut reservations = self.admit_here(size, true).await;
            reservations.extend(self.admit_there(size, true).await);
            // Other calls of batches may have begun meanwhile, so the room is checked once more.
            if size == Size::Small || !self.budgets.iter().any(|budget| budget.is_full_of_batches()) {
                return reservations;
            }
        }
    }

    /// Waits for room in the budget of the connection. How long that takes depends only on its own client.
    pub(in crate::rpc) async fn admit_here(&self, size: Size, in_batch: bool) -> AnswerReservations {
        let [here, ..] = &self.budgets;
        if size == Size::Small {
            here.wait().await;
            return Vec::new();
        }
        vec![here.admit(size, in_batch).await]
    }

    /// Waits for room in the budgets of the address and the server.
    pub(in crate::rpc) async fn admit_there(&self, size: Size, in_batch: bool) -> AnswerReservations {
        let [here, address, server] = &self.budgets;
        if size == Size::Small {
            tokio::select! {
                () = address.wait() => {}
                () = here.wait_until(|| here.is_low()) => {}
            }
            return Vec::new();
        }
        vec![address.admit(size, in_batch).await, server.admit(size, in_batch).await]
    }

    /// Waits until a subscription may send its next item. Gives false if the peer does not read enough within `time_limit`.
    ///
    /// Only its own unsent bytes make a peer a slow reader. It also waits for room in the budget of its address, without a limit.
    pub(in crate::rpc) async fn admit_item(&self, time_limit: Duration) -> bool {
        if tokio::time::timeout(time_limit, self.has_read()).await.is_err() {
            return false;
        }
        self.budgets[1].wait().await;
        true
    }

    /// Waits until the peer has read all but a little.
    async fn has_read(&self) {
        let here = &self.budgets[0];
        loop {
            let freed = here.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if self.unsent() < here.low_mark() {
                return;
            }
            freed.await;
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let unsent = *self.unsent.get_mut();
        for budget in &self.budgets {
            budget.free(unsent);
        }
    }
}
