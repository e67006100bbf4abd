use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

/// Maximum number of followers that read at once. Others wait.
const MAX_READERS: usize = 4;
/// Maximum number of followers with a full page that was not taken yet: 16 MB in total.
const MAX_FULL_PAGES: usize = 256;
/// The pause between two reads of the log of a running job.
const READ_INTERVAL: Duration = Duration::from_millis(100);
/// The pause per follower if there are many: all logs together are read at most a thousand times a second.
const READ_INTERVAL_PER_FOLLOWER: Duration = Duration::from_millis(1);

/// The followers of logs of a context. Their memory and their reads are limited, however many they are.
#[derive(Debug)]
pub(super) struct LogFollowers {
    pub(super) readers: Semaphore,
    pub(super) pages: Arc<Semaphore>,
    /// Held by each follower, so that they can be counted.
    pub(super) all: Arc<()>,
}

impl Default for LogFollowers {
    fn default() -> Self {
        Self { readers: Semaphore::new(MAX_READERS), pages: Arc::new(Semaphore::new(MAX_FULL_PAGES)), all: Arc::default() }
    }
}

impl LogFollowers {
    pub(super) fn pause(&self) -> Duration {
        let followers = u32::try_from(Arc::strong_count(&self.all)).unwrap_or(u32::MAX);
        READ_INTERVAL.max(READ_INTERVAL_PER_FOLLOWER.saturating_mul(followers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_follow_the_seldomer_each_looks() {
        let followers = LogFollowers::default();
        let few: Vec<_> = (0..20).map(|_| Arc::clone(&followers.all)).collect();
        assert_eq!(followers.pause(), READ_INTERVAL);
        let many: Vec<_> = (0..2000).map(|_| Arc::clone(&followers.all)).collect();
        assert!(followers.pause() >= Duration::from_secs(2), "{:?}", followers.pause());
        drop((few, many));
        assert_eq!(followers.pause(), READ_INTERVAL);
    }
}
