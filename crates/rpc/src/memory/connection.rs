use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{AnswerReservation, Budget, Divided, SHARES, STUCK_AFTER, Side, Size, TINY_CONNECTION_BYTES};
use crate::limits::Limits;

/// The reservations for an answer while it is created, in the budgets of the connection, its address and the server. None for a small one.
pub(crate) type AnswerReservations = Vec<AnswerReservation>;

/// The memory account of one connection, with the times of its last reads and writes.
#[derive(Debug)]
pub(crate) struct ConnectionMemory {
    /// Its own budget.
    pub(super) here: Arc<Budget>,
    /// The budgets of its address and of the server.
    shared: [Divided; 2],
    /// Whether it now works for a caller who has logged in, or need not.
    is_known: AtomicBool,
    /// Bytes of answers that are complete and not written, by the side on which they count. Answers of a batch count only once all are
    /// complete.
    unsent: [AtomicU64; 2],
    opened: Instant,
    /// The time when the last bytes came from the peer, in ms after `opened`.
    heard_ms: AtomicU64,
    /// The time since when the peer reads nothing, in ms after `opened`; 0 if it reads.
    stuck_ms: AtomicU64,
    /// The time since when the next piece of a request is awaited, in ms after `opened`; 0 if none is.
    arriving_ms: AtomicU64,
    /// The time since when one of its requests waits for room that others use, in ms after `opened`; 0 if none does.
    waiting_ms: AtomicU64,
    /// Notified when the connection uses less memory.
    pub(super) less: Notify,
    /// The longest time that a request waits for room in the budgets of the address and the server.
    pub(super) time_limit: Duration,
    ended: CancellationToken,
}

impl ConnectionMemory {
    /// Returns a new connection, whose caller has no login yet, or counts as known.
    pub(crate) fn open(limits: &Limits, address: &Divided, server: &Divided, is_known: bool) -> Arc<Self> {
        let connection = Arc::new(Self {
            here: Budget::new(("held_per_connection", None), limits.held_per_connection, SHARES[0]),
            shared: [address.clone(), server.clone()],
            is_known: AtomicBool::new(is_known),
            unsent: Default::default(),
            opened: Instant::now(),
            heard_ms: AtomicU64::new(0),
            stuck_ms: AtomicU64::new(0),
            arriving_ms: AtomicU64::new(0),
            waiting_ms: AtomicU64::new(0),
            less: Notify::new(),
            time_limit: limits.handler_timeout.duration(),
            ended: CancellationToken::new(),
        });
        for budget in connection.shared.iter().flat_map(Divided::each) {
            budget.register(&connection);
        }
        connection
    }

    /// Records whether it works from now on for a caller who has logged in, or need not.
    pub(crate) fn set_known(&self, is_known: bool) {
        self.is_known.store(is_known, Ordering::Release);
    }

    /// Whether it works for a caller without a login, where callers must log in.
    pub(crate) fn is_anonymous(&self) -> bool {
        !self.is_known.load(Ordering::Acquire)
    }

    /// Returns the side on which its memory counts now.
    pub(super) fn side(&self) -> Side {
        if self.is_anonymous() { Side::Anonymous } else { Side::Known }
    }

    /// Returns the budgets of the connection, of its address and of the server.
    pub(super) fn budgets(&self, side: Side) -> [&Arc<Budget>; 3] {
        let [address, server] = &self.shared;
        [&self.here, address.of(side), server.of(side)]
    }

    /// Returns the budget of its address.
    fn address(&self) -> &Arc<Budget> {
        self.shared[0].of(self.side())
    }

    /// Returns the bytes of memory that it uses.
    pub(super) fn used(&self) -> u64 {
        self.here.used.load(Ordering::Acquire)
    }

    fn now_ms(&self) -> u64 {
        self.ms_of(Instant::now())
    }

    fn ms_of(&self, time: Instant) -> u64 {
        u64::try_from(time.saturating_duration_since(self.opened).as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Records that bytes came from the peer.
    pub(crate) fn heard(&self) {
        self.heard_ms.store(self.now_ms(), Ordering::Release);
    }

    /// Returns the time since the last bytes from the peer.
    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(self.heard_ms.load(Ordering::Acquire)))
    }

    /// Records that the peer reads nothing now.
    pub(crate) fn stuck(&self) {
        // Only the first time counts.
        let _ = self.stuck_ms.compare_exchange(0, self.now_ms(), Ordering::AcqRel, Ordering::Acquire);
    }

    /// Records the time since when the next piece of a request is awaited, if one is.
    pub(super) fn arrives_since(&self, began: Option<tokio::time::Instant>) {
        let ms = began.map_or(0, |began| self.ms_of(began.into_std()));
        self.arriving_ms.store(ms, Ordering::Release);
    }

    /// Whether it has used memory of this budget for too long, because its peer reads nothing or does not finish what it began to send.
    pub(super) fn is_in_the_way(&self, budget: &Budget) -> bool {
        let stands = self.for_long(&self.stuck_ms) || self.for_long(&self.arriving_ms) && self.used() > TINY_CONNECTION_BYTES;
        stands && self.uses(budget)
    }

    /// Whether a part of one of its requests uses memory of this budget, and has long waited for the room of the rest.
    pub(super) fn waits_in(&self, budget: &Budget) -> bool {
        self.for_long(&self.waiting_ms) && self.used() > TINY_CONNECTION_BYTES && self.uses(budget)
    }

    /// Records whether one of its requests waits for room that others use.
    pub(super) fn waits(&self, waits: bool) {
        self.waiting_ms.store(if waits { self.now_ms() } else { 0 }, Ordering::Release);
    }

    fn for_long(&self, since: &AtomicU64) -> bool {
        let since = since.load(Ordering::Acquire);
        since > 0 && self.now_ms().saturating_sub(since) >= u64::try_from(STUCK_AFTER.as_millis()).unwrap_or(u64::MAX)
    }

    fn uses(&self, budget: &Budget) -> bool {
        self.budgets(self.side()).iter().any(|used| std::ptr::eq(&***used, budget))
    }

    /// Requests the close of the connection.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// Returns the token that requests the close of the connection.
    pub(crate) fn closing(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Returns when the connection must be closed.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Returns the bytes of answers that are complete and not written.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent.iter().map(|unsent| unsent.load(Ordering::Acquire)).sum()
    }

    /// Counts a finished answer.
    pub(crate) fn made(&self, bytes: usize) {
        let side = self.side();
        // The budgets come first, because the bytes may be freed as soon as they count as unsent.
        for budget in self.budgets(side) {
            budget.reserve(bytes as u64);
        }
        self.not_sent(side, bytes as u64);
    }

    /// Counts reserved bytes as unsent.
    pub(super) fn not_sent(&self, side: Side, bytes: u64) {
        self.unsent[side as usize].fetch_add(bytes, Ordering::AcqRel);
    }

    /// Counts bytes that were written to the peer. They may exceed the finished answers, because those do not include frames and headers.
    pub(crate) fn written(&self, bytes: usize) {
        if self.stuck_ms.swap(0, Ordering::AcqRel) > 0 {
            self.heard();
        }
        self.dropped(bytes);
    }

    /// Uncounts an answer that is not sent after all.
    pub(crate) fn dropped(&self, bytes: usize) {
        let (before, mut left) = (self.unsent(), bytes as u64);
        // A caller is without a login before it logs in, so answers are written in this order.
        for side in [Side::Anonymous, Side::Known] {
            let less = |unsent: u64| Some(unsent.saturating_sub(left));
            let unsent = self.unsent[side as usize].fetch_update(Ordering::AcqRel, Ordering::Acquire, less).unwrap_or_default();
            let gone = left.min(unsent);
            self.free(side, gone);
            left -= gone;
        }
        if before >= self.here.low_mark() && self.unsent() < self.here.low_mark() {
            self.here.freed.notify_waiters();
        }
    }

    /// Frees bytes in all budgets.
    pub(super) fn free(&self, side: Side, bytes: u64) {
        if bytes == 0 {
            return;
        }
        for budget in self.budgets(side) {
            budget.free(bytes);
        }
        self.less.notify_waiters();
    }

    /// Whether a call with a small answer may begin at once. A connection that uses little does not wait for others of its address.
    pub(crate) fn has_room(&self, in_batch: bool) -> bool {
        let [here, address, _] = self.budgets(self.side());
        here.accepts(in_batch) && (address.accepts(in_batch) || here.is_low())
    }

    /// Whether all budgets have room for a finished answer of any size.
    pub(crate) fn accepts(&self, in_batch: bool) -> bool {
        self.budgets(self.side()).iter().all(|budget| budget.accepts(in_batch))
    }

    /// Waits until a call with an answer of this size may begin. The result is kept until the answer is complete.
    pub(crate) async fn admit(&self, size: Size, in_batch: bool) -> AnswerReservations {
        if in_batch {
            return self.admit_part(size).await;
        }
        let mut reservations = self.admit_here(size, false).await;
        reservations.extend(self.admit_there(size, false).await);
        reservations
    }

    /// Like [`Self::admit`], but for a call of a batch. While batches have no room it reserves nothing, because other calls could use the room.
    async fn admit_part(&self, size: Size) -> AnswerReservations {
        loop {
            let budgets = self.budgets(self.side());
            for budget in budgets {
                let is_enough = || size == Size::Small && self.here.is_low();
                budget.wait_until(|| !budget.is_full_of_batches() || is_enough()).await;
            }
            let mut reservations = self.admit_here(size, true).await;
            reservations.extend(self.admit_there(size, true).await);
            // Other calls of batches may have begun meanwhile, so the room is checked again.
            if size == Size::Small || !budgets.iter().any(|budget| budget.is_full_of_batches()) {
                return reservations;
            }
        }
    }

    /// Waits for room in the budget of the connection. The time depends only on its own client.
    pub(crate) async fn admit_here(&self, size: Size, in_batch: bool) -> AnswerReservations {
        if size == Size::Small {
            self.here.wait().await;
            return Vec::new();
        }
        vec![self.here.admit(size, in_batch).await]
    }

    /// Waits for room in the budgets of the address and the server.
    pub(crate) async fn admit_there(&self, size: Size, in_batch: bool) -> AnswerReservations {
        let [here, address, server] = self.budgets(self.side());
        if size == Size::Small {
            tokio::select! {
                () = address.wait() => {}
                () = here.wait_until(|| here.is_low()) => {}
            }
            return Vec::new();
        }
        vec![address.admit(size, in_batch).await, server.admit(size, in_batch).await]
    }

    /// Waits until a subscription may send its next item. Returns false if the peer does not read enough within `time_limit`.
    ///
    /// A peer counts as a slow reader only for its own unsent bytes. The method also waits for room in the budget of its address, without a
    /// limit.
    pub(crate) async fn admit_item(&self, time_limit: Duration) -> bool {
        if tokio::time::timeout(time_limit, self.has_read()).await.is_err() {
            return false;
        }
        self.address().wait().await;
        true
    }

    /// Waits until the peer has read all but a little.
    async fn has_read(&self) {
        let here = &self.here;
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

impl Drop for ConnectionMemory {
    fn drop(&mut self) {
        for side in [Side::Anonymous, Side::Known] {
            let unsent = self.unsent[side as usize].load(Ordering::Acquire);
            for budget in self.budgets(side) {
                budget.free(unsent);
            }
        }
    }
}
