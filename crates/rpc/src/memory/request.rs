use std::sync::Arc;
use std::time::Instant;

use super::{Budget, ConnectionMemory, RECHECK_INTERVAL, SMALL_REQUEST_BYTES, Side};

/// The bytes that are reserved for a request. They are freed on drop.
#[derive(Debug)]
pub(crate) struct RequestReservation {
    connection: Arc<ConnectionMemory>,
    /// The side on which they count.
    side: Side,
    bytes: u64,
}

impl RequestReservation {
    /// Returns an empty reservation for the current caller on the connection.
    pub(crate) fn of(connection: &Arc<ConnectionMemory>) -> Self {
        Self { connection: Arc::clone(connection), side: connection.side(), bytes: 0 }
    }

    /// Reserves more bytes, or returns false if there is no room.
    ///
    /// While the budget of the connection is full, this waits until the peer has read answers, or calls have dropped their requests. While
    /// the budget of the address or the server is full, it waits for a limited time. The server reads nothing from the connection
    /// meanwhile.
    #[must_use]
    pub(crate) async fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        if !self.reserve_here(bytes).await {
            return false;
        }
        let deadline = Instant::now() + self.connection.time_limit;
        let [here, address, server] = self.connection.budgets(self.side);
        // This frees the bytes reserved so far if the future is dropped while it waits.
        let mut part = Part { budgets: [Some(here), None], bytes };
        // A connection that uses very little does not wait for others of its address. So it can still query a status or stop a job.
        if here.is_nearly_empty() {
            address.reserve(bytes);
        } else if !address.reserve_by(bytes, deadline, &self.connection).await {
            return false;
        }
        part.budgets[1] = Some(address);
        // Small requests must not wait for large ones of others, so they do not wait for the budget of the server.
        if self.bytes + bytes <= SMALL_REQUEST_BYTES {
            server.reserve(bytes);
        } else if !server.reserve_by(bytes, deadline, &self.connection).await {
            return false;
        }
        part.budgets = [None, None];
        self.bytes += bytes;
        true
    }

    /// Frees all reserved bytes.
    pub(crate) fn clear(&mut self) {
        self.connection.free(self.side, std::mem::take(&mut self.bytes));
    }

    /// Reserves bytes in the budget of the connection. Returns false if the request is too large even for the empty budget.
    async fn reserve_here(&self, bytes: u64) -> bool {
        let here = &self.connection.here;
        loop {
            if here.try_reserve(bytes) {
                return true;
            }
            if self.bytes.saturating_add(bytes) >= here.limit {
                return false;
            }
            let less = self.connection.less.notified();
            tokio::pin!(less);
            less.as_mut().enable();
            if here.try_reserve(bytes) {
                return true;
            }
            // The server reads nothing from the connection meanwhile, so the connection must not count as silent.
            self.connection.heard();
            let _ = tokio::time::timeout(RECHECK_INTERVAL, less).await;
        }
    }
}

/// Bytes of a request that are reserved in only some of the budgets.
struct Part<'r> {
    budgets: [Option<&'r Arc<Budget>>; 2],
    bytes: u64,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        for budget in self.budgets.iter().flatten() {
            budget.free(self.bytes);
        }
    }
}

impl Drop for RequestReservation {
    fn drop(&mut self) {
        self.connection.free(self.side, self.bytes);
    }
}
