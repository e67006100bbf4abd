use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{AnswerReservation, Budget, Divided, SHARES, STUCK, Side, Size, TINY};
use crate::limits::Limits;

/// What is reserved for an answer while it is made, in the budgets of the connection, its address and the server. Nothing for a small one.
pub(crate) type AnswerReservations = Vec<AnswerReservation>;

/// What one connection has in memory, and when it last read or sent something.
#[derive(Debug)]
pub(crate) struct Connection {
    /// Its own budget.
    pub(super) here: Arc<Budget>,
    /// The budgets of its address and of the server.
    shared: [Divided; 2],
    /// Whether what it does now is that of somebody who has logged in, or need not.
    is_known: AtomicBool,
    /// Bytes of answers that are made and not written, by the side on which they count. Those of a batch are not among them until all are made.
    unsent: [AtomicU64; 2],
    opened: Instant,
    /// When something last came from the peer, in ms after `opened`.
    heard_ms: AtomicU64,
    /// Since when the peer reads nothing, in ms after `opened`; 0 if it reads.
    stuck_ms: AtomicU64,
    /// Since when the next piece of a request is awaited, in ms after `opened`; 0 if none is.
    arriving_ms: AtomicU64,
    /// Since when a request of it waits for room that others have, in ms after `opened`; 0 if none does.
    waiting_ms: AtomicU64,
    /// Notified when the connection has less in memory.
    pub(super) less: Notify,
    /// How long a request waits for room in the budgets of the address and the server.
    pub(super) time_limit: Duration,
    ended: CancellationToken,
}

impl Connection {
    /// A new connection, whose caller is nobody yet, or counts as known.
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

    /// Notes whether what it does from now on is that of somebody who has logged in, or need not.
    pub(crate) fn set_known(&self, is_known: bool) {
        self.is_known.store(is_known, Ordering::Release);
    }

    /// Whether what it does is that of somebody who has not logged in and has to.
    pub(crate) fn is_stranger(&self) -> bool {
        !self.is_known.load(Ordering::Acquire)
    }

    /// On whose account memory is used now.
    pub(super) fn side(&self) -> Side {
        if self.is_stranger() { Side::Strangers } else { Side::Known }
    }

    /// The budgets of the connection, of its address and of the server.
    pub(super) fn budgets(&self, side: Side) -> [&Arc<Budget>; 3] {
        let [address, server] = &self.shared;
        [&self.here, address.of(side), server.of(side)]
    }

    /// The budget of its address.
    fn address(&self) -> &Arc<Budget> {
        self.shared[0].of(self.side())
    }

    /// How much memory it uses.
    pub(super) fn used(&self) -> u64 {
        self.here.used.load(Ordering::Acquire)
    }

    fn now_ms(&self) -> u64 {
        self.ms_of(Instant::now())
    }

    fn ms_of(&self, time: Instant) -> u64 {
        u64::try_from(time.saturating_duration_since(self.opened).as_millis()).unwrap_or(u64::MAX).max(1)
    }

    /// Notes that something came from the peer.
    pub(crate) fn heard(&self) {
        self.heard_ms.store(self.now_ms(), Ordering::Release);
    }

    /// How long nothing has come from the peer.
    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.now_ms().saturating_sub(self.heard_ms.load(Ordering::Acquire)))
    }

    /// Notes that the peer reads nothing now.
    pub(crate) fn stuck(&self) {
        // Only the first time counts.
        let _ = self.stuck_ms.compare_exchange(0, self.now_ms(), Ordering::AcqRel, Ordering::Acquire);
    }

    /// Notes since when the next piece of a request is awaited, if one is.
    pub(super) fn arrives_since(&self, began: Option<tokio::time::Instant>) {
        let ms = began.map_or(0, |began| self.ms_of(began.into_std()));
        self.arriving_ms.store(ms, Ordering::Release);
    }

    /// Whether it uses memory of this budget, and does so for longer than it should because its peer reads nothing, or does not send what it began.
    pub(super) fn is_in_the_way(&self, budget: &Budget) -> bool {
        let stands = self.for_long(&self.stuck_ms) || self.for_long(&self.arriving_ms) && self.used() > TINY;
        stands && self.uses(budget)
    }

    /// Whether a part of a request of it uses memory of this budget, and waits for long for the room that the rest needs.
    pub(super) fn waits_in(&self, budget: &Budget) -> bool {
        self.for_long(&self.waiting_ms) && self.used() > TINY && self.uses(budget)
    }

    /// Notes whether a request of it waits for room that others have.
    pub(super) fn waits(&self, waits: bool) {
        self.waiting_ms.store(if waits { self.now_ms() } else { 0 }, Ordering::Release);
    }

    fn for_long(&self, since: &AtomicU64) -> bool {
        let since = since.load(Ordering::Acquire);
        since > 0 && self.now_ms().saturating_sub(since) >= u64::try_from(STUCK.as_millis()).unwrap_or(u64::MAX)
    }

    fn uses(&self, budget: &Budget) -> bool {
        self.budgets(self.side()).iter().any(|used| std::ptr::eq(&***used, budget))
    }

    /// Has the connection closed.
    pub(crate) fn end(&self) {
        self.ended.cancel();
    }

    /// What has the connection closed.
    pub(crate) fn closing(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Returns when the connection has to be closed.
    pub(crate) async fn ended(&self) {
        self.ended.cancelled().await;
    }

    /// Bytes of answers that are made and not written.
    pub(crate) fn unsent(&self) -> u64 {
        self.unsent.iter().map(|unsent| unsent.load(Ordering::Acquire)).sum()
    }

    /// Counts an answer that was made.
    pub(crate) fn made(&self, bytes: usize) {
        let side = self.side();
        // The budgets come first, because the bytes may be freed as soon as they count as unsent.
        for budget in self.budgets(side) {
            budget.reserve(bytes as u64);
        }
        self.not_sent(side, bytes as u64);
    }

    /// Counts as unsent what is reserved already.
    pub(super) fn not_sent(&self, side: Side, bytes: u64) {
        self.unsent[side as usize].fetch_add(bytes, Ordering::AcqRel);
    }

    /// Counts bytes that were written to the peer. They may be more than were made, because frames and headers are not counted there.
    pub(crate) fn written(&self, bytes: usize) {
        if self.stuck_ms.swap(0, Ordering::AcqRel) > 0 {
            self.heard();
        }
        self.dropped(bytes);
    }

    /// Counts an answer that is not sent after all.
    pub(crate) fn dropped(&self, bytes: usize) {
        let (before, mut left) = (self.unsent(), bytes as u64);
        // Whoever logs in on a connection was nobody before, so that is the order in which they are written.
        for side in [Side::Strangers, Side::Known] {
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

    /// Whether all budgets have room for an answer that is made already, whatever its size.
    pub(crate) fn accepts(&self, in_batch: bool) -> bool {
        self.budgets(self.side()).iter().all(|budget| budget.accepts(in_batch))
    }

    /// Waits until a call whose answer has this size may begin. The result is kept until the answer is made.
    pub(crate) async fn admit(&self, size: Size, in_batch: bool) -> AnswerReservations {
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
            let budgets = self.budgets(self.side());
            for budget in budgets {
                let is_enough = || size == Size::Small && self.here.is_low();
                budget.wait_until(|| !budget.is_full_of_batches() || is_enough()).await;
            }
            let mut reservations = self.admit_here(size, true).await;
            reservations.extend(self.admit_there(size, true).await);
            // Other calls of batches may have begun meanwhile, so the room is checked once more.
            if size == Size::Small || !budgets.iter().any(|budget| budget.is_full_of_batches()) {
                return reservations;
            }
        }
    }

    /// Waits for room in the budget of the connection. How long that takes depends only on its own client.
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

    /// Waits until a subscription may send its next item. Gives false if the peer does not read enough within `time_limit`.
    ///
    /// Only its own unsent bytes make a peer a slow reader. It also waits for room in the budget of its address, without a limit.
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

impl Drop for Connection {
    fn drop(&mut self) {
        for side in [Side::Strangers, Side::Known] {
            let unsent = self.unsent[side as usize].load(Ordering::Acquire);
            for budget in self.budgets(side) {
                budget.free(unsent);
            }
        }
    }
}
