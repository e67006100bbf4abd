use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::{Connection, RequestReservation};

/// A request has to come at a pace: so many bytes of it, or the rest, ...
const PIECE: usize = 64 * 1024;
/// ... in this time. What is begun and not sent on would be held as long as a request may take.
const PACE: Duration = Duration::from_secs(10);

/// A request that arrives: it has to be whole within a time, and must not stall meanwhile.
///
/// While others wait for room, one of which no piece comes within [`STUCK`](super::STUCK) makes way for them.
#[derive(Debug)]
pub(crate) struct Arrival {
    connection: Arc<Connection>,
    /// When it has to be whole.
    deadline: Instant,
    /// When the piece began that is coming.
    began: Instant,
    /// How many bytes of that have come.
    came: usize,
}

impl Arrival {
    /// A request that begins to arrive, and has to be whole within `time`.
    pub(crate) fn begin(connection: &Arc<Connection>, time: Duration) -> Self {
        let now = Instant::now();
        connection.arrives_since(Some(now));
        Self { connection: Arc::clone(connection), deadline: now + time, began: now, came: 0 }
    }

    /// Gives what arrives next. `None`: it takes too long.
    pub(crate) async fn next<T>(&self, next: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.deadline.min(self.began + PACE), next).await.ok()
    }

    /// Notes that so many bytes have come.
    pub(crate) fn came(&mut self, bytes: usize) {
        self.came += bytes;
        if self.came >= PIECE {
            (self.came, self.began) = (0, Instant::now());
            self.connection.arrives_since(Some(self.began));
        }
    }

    /// Notes that so many bytes have come, and reserves them. Gives false if there is no room.
    #[must_use]
    pub(crate) async fn keep(&mut self, bytes: usize, reservation: &mut RequestReservation) -> bool {
        self.came(bytes);
        let asked = Instant::now();
        // Nothing is read from the peer meanwhile, so this is not its time.
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
