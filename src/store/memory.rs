use std::sync::atomic::{AtomicU64, Ordering};

use super::query::store_info;
use super::{Error, Store, StoreInfo};

/// How full Redis was when last looked at, and about how much was stored since.
#[derive(Debug, Default)]
pub(super) struct Memory {
    used: AtomicU64,
    limit: AtomicU64,
    stored: AtomicU64,
}

/// A job costs Redis about so many bytes beside its fields.
const JOB: usize = 800;

impl Memory {
    /// Notes jobs that are about to be stored by a call.
    pub(super) fn add(&self, jobs: usize, call: &redis::Cmd) {
        let bytes = |argument| if let redis::Arg::Simple(bytes) = argument { <[u8]>::len(bytes) } else { 0 };
        let bytes: usize = call.args_iter().map(bytes).sum();
        self.stored.fetch_add((jobs * JOB + bytes) as u64, Ordering::Relaxed);
    }

    /// The part of the memory that is in use, about; 0 where there is no limit.
    pub(super) fn share(&self) -> f64 {
        match self.limit.load(Ordering::Relaxed) {
            0 => 0.0,
            limit => (self.used.load(Ordering::Relaxed) + self.stored.load(Ordering::Relaxed)) as f64 / limit as f64,
        }
    }
}

impl Store {
    /// How Redis is. What is said of its memory is what [`Store::create`] goes by.
    pub async fn store_info(&self) -> Result<StoreInfo, Error> {
        let info = store_info(&self.0.commands).await?;
        let memory = &self.0.memory;
        memory.used.store(info.used_memory, Ordering::Relaxed);
        memory.limit.store(info.max_memory, Ordering::Relaxed);
        memory.stored.store(0, Ordering::Relaxed);
        Ok(info)
    }
}
