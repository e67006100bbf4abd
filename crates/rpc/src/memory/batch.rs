use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Connection, Side};

/// The finished answers of a batch: they stay in memory until all are made and are sent together, or are dropped together.
#[derive(Debug)]
pub struct BatchAnswers {
    connection: Arc<Connection>,
    /// On whose account they are.
    side: Side,
    bytes: AtomicU64,
    /// How long they may be together.
    most: u64,
}

/// Why a batch has to end before all its answers are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchExcess {
    /// Its answers together are longer than a response may be.
    TooLarge,
    /// Batches use too much memory, and this connection is one of those that use much.
    Crowded,
}

impl BatchAnswers {
    pub(crate) fn new(connection: Arc<Connection>, most: u64) -> Self {
        Self { side: connection.side(), connection, bytes: AtomicU64::new(0), most }
    }

    /// Counts an answer that was made.
    pub(crate) fn add(&self, bytes: usize) {
        for budget in self.connection.budgets(self.side) {
            budget.reserve(bytes as u64);
            budget.reserve_for_batch(bytes as u64);
        }
        self.bytes.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// Why the batch has to end before all its answers are made, if it has to.
    pub(crate) fn excess(&self) -> Option<BatchExcess> {
        let bytes = self.bytes.load(Ordering::Acquire);
        if bytes > self.most {
            return Some(BatchExcess::TooLarge);
        }
        let budgets = self.connection.budgets(self.side);
        let is_crowded = bytes > 0 && !budgets[0].is_low() && budgets.iter().any(|budget| budget.has_too_much_for_batches());
        is_crowded.then_some(BatchExcess::Crowded)
    }

    /// Counts all of them as unsent from now on, because they are complete. Gives how many bytes these are.
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
