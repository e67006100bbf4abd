use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{ConnectionMemory, RequestReservation};

/// A request must arrive at a minimal pace: this many bytes of it, or the rest, ...
const MIN_PROGRESS_BYTES: usize = 64 * 1024;
/// ... in this time. Otherwise a stalled request would be held as long as a request may take.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// A request that is arriving. It must be complete within a time, and must not stall meanwhile.
///
/// While others wait for room, a request of which no piece arrives within [`STUCK_AFTER`](super::STUCK_AFTER) makes way for them.
#[derive(Debug)]
pub(crate) struct Arrival {
    connection: Arc<ConnectionMemory>,
    /// The deadline for the whole request.
    deadline: Instant,
    /// The time when the current piece began.
    began: Instant,
    /// The bytes of the current piece that have arrived.
    came: usize,
}

impl Arrival {
    /// Returns a request that begins to arrive, and must be complete within `time`.
    pub(crate) fn begin(connection: &Arc<ConnectionMemory>, time: Duration) -> Self {
        let now = Instant::now();
        connection.arrives_since(Some(now));
        Self { connection: Arc::clone(connection), deadline: now + time, began: now, came: 0 }
    }

    /// Returns the next result of `next`. `None`: it takes too long.
    pub(crate) async fn next<T>(&self, next: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.deadline.min(self.began + PROGRESS_INTERVAL), next).await.ok()
    }

    /// Records that this many bytes have arrived.
    pub(crate) fn came(&mut self, bytes: usize) {
        self.came += bytes;
        if self.came >= MIN_PROGRESS_BYTES {
            (self.came, self.began) = (0, Instant::now());
            self.connection.arrives_since(Some(self.began));
        }
    }

    /// Records that this many bytes have arrived, and reserves them. Returns false if there is no room.
    #[must_use]
    pub(crate) async fn keep(&mut self, bytes: usize, reservation: &mut RequestReservation) -> bool {
        self.came(bytes);
        let asked = Instant::now();
        // The server reads nothing from the peer meanwhile, so this time does not count for the peer.
        self.connection.arrives_since(None);
        let has_room = reservation.grow(bytes).await;
        let waited = asked.elapsed();
        (self.deadline, self.began) = (self.deadline + waited, self.began + waited);
        self.connection.arrives_since(Some(self.began));
        has_room
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.connection.arrives_since(None);
    }
}
