use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::record::Record;
use super::repeats::Repeats;
use hero_model::Timestamp;

/// How many records may wait to be written, with those that calls under way will have.
pub(super) const MOST: usize = 8192;
/// How many bytes they may have before no more calls begin.
pub(super) const MOST_BYTES: usize = 16 << 20;

/// What those who have something to record share with the thread that writes it.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// Wakes the thread.
    pub(super) wake: Condvar,
    /// Cancelled when the thread has ended.
    pub(super) ended: CancellationToken,
}

/// What waits to be written, and how the writing goes.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) queue: VecDeque<Record>,
    /// How many bytes are in the queue.
    pub(super) bytes: usize,
    /// How many records the thread has taken and not written.
    pub(super) taken: usize,
    /// How many places are kept for calls under way.
    pub(super) reserved: usize,
    /// Records for which there was no room, since when.
    pub(super) lost: Option<(u64, Timestamp)>,
    /// Why the log cannot be written, if it cannot.
    pub(super) failing: Option<String>,
    /// Refusals that are counted.
    pub(super) repeats: Repeats,
    /// Those who wait until what is in the queue is written.
    pub(super) waiting: Vec<oneshot::Sender<()>>,
    /// Whether the thread sleeps until it is woken.
    pub(super) idle: bool,
    pub(super) closing: bool,
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a record into the queue. It is written soon.
    pub(super) fn push(&self, state: &mut State, record: Record) {
        state.bytes += record.weight();
        state.queue.push_back(record);
        if std::mem::take(&mut state.idle) {
            self.wake.notify_all();
        }
    }

    /// Records the first of a kind, and counts those that follow.
    pub(super) fn repeat(&self, state: &mut State, record: Record) {
        // The thread has to wake up when the minute is over.
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
    /// Whether there is no room for one more record.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() + self.taken + self.reserved >= MOST || self.bytes >= MOST_BYTES
    }

    /// Counts a record for which there is no room.
    pub(super) fn lose(&mut self) {
        let (count, since) = self.lost.unwrap_or_else(|| (0, Timestamp::local()));
        if count == 0 {
            tracing::error!("the audit log takes no more records now: they are counted, and how many is a record as soon as it does");
        }
        self.lost = Some((count + 1, since));
        metrics::counter!("hero_audit_lost_total").increment(1);
    }
}
