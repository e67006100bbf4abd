use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Account;

/// The finished parts of a batch: held until all are there and are sent together, or are dropped together.
#[derive(Debug)]
pub struct Parts {
    account: Arc<Account>,
    bytes: AtomicU64,
    /// How long their answer may be.
    most: u64,
}

/// Why a batch is not finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rpc) enum Surplus {
    /// Its answer would be longer than answers may be.
    TooLarge,
    /// Batches hold too much, and those of its connection not a little of that.
    Crowded,
}

impl Parts {
    pub(in crate::rpc) fn new(account: Arc<Account>, most: u64) -> Self {
        Self { account, bytes: AtomicU64::new(0), most }
    }

    /// Counts a part that was made.
    pub(in crate::rpc) fn add(&self, bytes: usize) {
        for room in &self.account.rooms {
            room.hold(bytes as u64);
            room.hold_part(bytes as u64);
        }
        self.bytes.fetch_add(bytes as u64, Ordering::AcqRel);
    }

    /// Why the batch has to end before all its parts are made.
    pub(in crate::rpc) fn surplus(&self) -> Option<Surplus> {
        let bytes = self.bytes.load(Ordering::Acquire);
        if bytes > self.most {
            return Some(Surplus::TooLarge);
        }
        let rooms = &self.account.rooms;
        let is_crowded = bytes > 0 && !rooms[0].holds_little() && rooms.iter().any(|room| room.has_too_many_parts());
        is_crowded.then_some(Surplus::Crowded)
    }

    /// All are there, and are an answer that is not written from now on. Gives how many bytes are counted already.
    pub(in crate::rpc) fn send(&self) -> usize {
        let bytes = self.bytes.swap(0, Ordering::AcqRel);
        self.account.unsent.fetch_add(bytes, Ordering::AcqRel);
        for room in &self.account.rooms {
            room.free_part(bytes);
        }
        usize::try_from(bytes).expect("what is counted was in memory")
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let bytes = *self.bytes.get_mut();
        for room in &self.account.rooms {
            room.free_part(bytes);
        }
        self.account.free(bytes);
    }
}
