use std::sync::atomic::{AtomicU64, Ordering};

use super::Error;
use crate::views::Health;

/// How full Redis was when last looked at, and about how much was stored since.
#[derive(Debug, Default)]
pub(super) struct Memory {
    used: AtomicU64,
    limit: AtomicU64,
    stored: AtomicU64,
}

/// How many bytes a job costs Redis beside its fields, about.
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

impl Health<'_> {
    /// Reads how full Redis is: bytes in use, and how many may be used; 0 is no limit. [`Jobs::create`](crate::views::Jobs::create) uses what was read.
    pub async fn look_at_memory(self) -> Result<(u64, u64), Error> {
        let info: String = self.0.commands.call(redis::cmd("INFO").arg("memory")).await?;
        let number = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok());
        let (used, limit) = (number("used_memory").unwrap_or(0), number("maxmemory").unwrap_or(0));
        let memory = &self.0.memory;
        memory.used.store(used, Ordering::Relaxed);
        memory.limit.store(limit, Ordering::Relaxed);
        memory.stored.store(0, Ordering::Relaxed);
        Ok((used, limit))
    }
}
