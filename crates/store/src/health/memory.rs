use std::sync::atomic::{AtomicU64, Ordering};

use crate::library::fcall::word_if;
use crate::views::Health;
use crate::{Error, Inner};

/// The memory use of Redis at the last reading, and the approximate amount stored since.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    used: AtomicU64,
    limit: AtomicU64,
    stored: AtomicU64,
}

/// The approximate number of bytes that a job costs Redis besides its fields.
const JOB_OVERHEAD_BYTES: usize = 800;

impl Memory {
    /// Adds the jobs that a call is about to store.
    pub(crate) fn add(&self, jobs: usize, call: &redis::Cmd) {
        let bytes = |argument| if let redis::Arg::Simple(bytes) = argument { <[u8]>::len(bytes) } else { 0 };
        let bytes: usize = call.args_iter().map(bytes).sum();
        self.stored.fetch_add((jobs * JOB_OVERHEAD_BYTES + bytes) as u64, Ordering::Relaxed);
    }

    /// The approximate share of the memory that is in use; 0 if there is no limit.
    pub(crate) fn share(&self) -> f64 {
        match self.limit.load(Ordering::Relaxed) {
            0 => 0.0,
            limit => (self.used.load(Ordering::Relaxed) + self.stored.load(Ordering::Relaxed)) as f64 / limit as f64,
        }
    }
}

/// If more than this share of the memory is in use, functions that store something new read the memory use of Redis.
const LOOK_FROM: f64 = 0.7;

impl Inner {
    /// The argument that tells a function whether memory may be short.
    pub(crate) fn look(&self) -> &'static str {
        word_if("look", self.memory.share() > LOOK_FROM)
    }
}

impl Health<'_> {
    /// Reads the memory use of Redis: the bytes in use, as Redis counts them when it refuses more, and the limit; 0 is no limit.
    /// [`Jobs::create`](crate::views::Jobs::create) uses the values read.
    pub async fn look_at_memory(self) -> Result<(u64, u64), Error> {
        let info: String = self.0.commands.call(redis::cmd("INFO").arg("memory")).await?;
        let (used, limit) = (used(&info), number(&info, "maxmemory"));
        let memory = &self.0.memory;
        memory.used.store(used, Ordering::Relaxed);
        memory.limit.store(limit, Ordering::Relaxed);
        memory.stored.store(0, Ordering::Relaxed);
        Ok((used, limit))
    }
}

/// Returns the bytes in use of an answer to `INFO memory`, as Redis compares them with its maximum: what waits for replicas and the
/// append-only file does not count.
pub(crate) fn used(info: &str) -> u64 {
    number(info, "used_memory").saturating_sub(number(info, "mem_not_counted_for_evict"))
}

fn number(info: &str, name: &str) -> u64 {
    info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::used;

    #[test]
    fn what_waits_for_replicas_does_not_count_as_used() {
        assert_eq!(used("# Memory\r\nused_memory:1000\r\nmem_not_counted_for_evict:900\r\n"), 100);
        assert_eq!(used("used_memory:1000\r\nused_memory_rss:5\r\n"), 1000);
        assert_eq!(used("used_memory:1\r\nmem_not_counted_for_evict:2\r\n"), 0);
        assert_eq!(used(""), 0);
    }
}
