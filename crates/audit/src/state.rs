use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::record::Record;
use super::repeats::Repeats;
use hero_model::Timestamp;

/// The maximum number of records in the queue, with the places reserved for calls under way.
pub(super) const MAX_RECORDS: usize = 8192;
/// The queue size in bytes from which on no more calls begin.
pub(super) const MOST_BYTES: usize = 16 << 20;

/// The state shared between callers that record and the thread that writes.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Wakes the thread.
    pub(super) wake: Condvar,
    /// Cancelled when the thread has ended.
    pub(super) ended: CancellationToken,
}

/// The queue of the writing thread, and the state of the writing.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) queue: VecDeque<Record>,
    /// The number of bytes in the queue.
    pub(super) bytes: usize,
    /// The number of records that the thread has taken and not yet written.
    pub(super) taken: usize,
    /// The number of places reserved for calls under way.
    pub(super) reserved: usize,
    /// The number of records lost for lack of room, and the time of the first.
    pub(super) lost: Option<(u64, Timestamp)>,
    /// The reason why the log cannot be written, if it cannot.
    pub(super) failing: Option<String>,
    /// The refusals being counted.
    pub(super) repeats: Repeats,
    /// The callers that wait until the queue is written.
    pub(super) waiting: Vec<oneshot::Sender<()>>,
    /// Whether the thread sleeps until it is woken.
    pub(super) idle: bool,
    pub(super) closing: bool,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a record. The thread writes it soon.
    pub(super) fn push(&self, state: &mut State, record: Record) {
        state.bytes += record.weight();
        state.queue.push_back(record);
        if std::mem::take(&mut state.idle) {
            self.wake.notify_all();
        }
    }

    /// Records the first of a kind, and counts those that follow.
    pub(super) fn repeat(&self, state: &mut State, record: Record) {
        // The thread must wake when the minute has passed.
        let first = state.repeats.is_empty();
        match state.repeats.take(record, Instant::now()) {
            Some(_) if state.is_full() => state.lose(),
            Some(record) => self.push(state, record),
            None if first => self.wake.notify_all(),
            None => {}
        }
    }
}

impl State {
    /// Whether the queue has no room for another record.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() + self.taken + self.reserved >= MAX_RECORDS || self.bytes >= MOST_BYTES
    }

    /// Counts a record that is lost for lack of room.
    pub(super) fn lose(&mut self) {
        let (count, since) = self.lost.unwrap_or_else(|| (0, Timestamp::local()));
        if count == 0 {
            tracing::error!("the audit log takes no more records now: they are counted, and how many is a record as soon as it does");
        }
        self.lost = Some((count + 1, since));
        metrics::counter!("hero_audit_lost_total").increment(1);
    }
}
