use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{ConnectionMemory, Side};

/// The finished answers of a batch. They stay in memory until all are complete and are sent together, or are dropped together.
#[derive(Debug)]
pub struct BatchAnswers {
    connection: Arc<ConnectionMemory>,
    /// The side on which they count.
    side: Side,
    bytes: AtomicU64,
    /// The most bytes of all together.
    most: u64,
}

/// The reason why a batch ends before all its answers are complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchExcess {
    /// Its answers together are longer than a response may be.
    TooLarge,
    /// Batches use too much memory, and this connection uses much of it.
    Crowded,
}

impl BatchAnswers {
    pub(crate) fn new(connection: Arc<ConnectionMemory>, most: u64) -> Self {
        Self { side: connection.side(), connection, bytes: AtomicU64::new(0), most }
    }

    /// Counts a finished answer.
    pub(crate) fn add(&self, bytes: usize) {
        for budget in self.connection.budgets(self.side) {
            budget.reserve(bytes as u64);
            budget.reserve_for_batch(bytes as u64);
        }
        self.bytes.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// Returns the reason why the batch must end now, if there is one.
    pub(crate) fn excess(&self) -> Option<BatchExcess> {
        let bytes = self.bytes.load(Ordering::Acquire);
        if bytes > self.most {
            return Some(BatchExcess::TooLarge);
        }
        let budgets = self.connection.budgets(self.side);
        let is_crowded = bytes > 0 && !budgets[0].is_low() && budgets.iter().any(|budget| budget.has_too_much_for_batches());
        is_crowded.then_some(BatchExcess::Crowded)
    }

    /// Counts all of them as unsent from now on, because they are complete. Returns their number of bytes.
    pub(crate) fn send(&self) -> usize {
        let bytes = self.bytes.swap(0, Ordering::AcqRel);
        self.connection.not_sent(self.side, bytes);
        for budget in self.connection.budgets(self.side) {
            budget.free_for_batch(bytes);
        }
        usize::try_from(bytes).expect("what is counted was in memory")
    }
}

impl Drop for BatchAnswers {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        for budget in self.connection.budgets(self.side) {
            budget.free_for_batch(bytes);
        }
        self.connection.free(self.side, bytes);
    }
}
