use std::sync::Arc;
use std::time::Instant;

use super::{Budget, Connection, RECHECK, SMALL, Side};

/// The bytes that are reserved for a request. They are freed when this is dropped.
#[derive(Debug)]
pub(crate) struct RequestReservation {
    connection: Arc<Connection>,
    /// On whose account it is.
    side: Side,
    bytes: u64,
}

impl RequestReservation {
    /// A reservation of no bytes yet, for whoever uses the connection now.
    pub(crate) fn of(connection: &Arc<Connection>) -> Self {
        Self { connection: Arc::clone(connection), side: connection.side(), bytes: 0 }
    }

    /// Reserves more bytes, or gives false when there is no room.
    ///
    /// While the budget of the connection is full this waits: until the peer has read answers, or calls have dropped their
    /// requests. While the budget of the address or the server is full, it waits for a limited time. Nothing is read meanwhile.
    #[must_use]
    pub(crate) async fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        if !self.reserve_here(bytes).await {
            return false;
        }
        let deadline = Instant::now() + self.connection.time_limit;
        let [here, address, server] = self.connection.budgets(self.side);
        // Frees what is reserved so far if this is dropped while it waits.
        let mut part = Part { budgets: [Some(here), None], bytes };
        // A connection that uses next to nothing does not wait for others of its address: so it can still ask for a status or stop a job.
        if here.is_nearly_empty() {
            address.reserve(bytes);
        } else if !address.reserve_by(bytes, deadline, &self.connection).await {
            return false;
        }
        part.budgets[1] = Some(address);
        // Small requests must not wait for large ones of others, so they do not wait for the budget of the server.
        if self.bytes + bytes <= SMALL {
            server.reserve(bytes);
        } else if !server.reserve_by(bytes, deadline, &self.connection).await {
            return false;
        }
        part.budgets = [None, None];
        self.bytes += bytes;
        true
    }

    /// Frees everything that is reserved so far.
    pub(crate) fn clear(&mut self) {
        self.connection.free(self.side, std::mem::take(&mut self.bytes));
    }

    /// Reserves bytes in the budget of the connection. Gives false if the request is too large for it even when nothing else is in memory.
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
            // Nothing is read from the connection meanwhile, so it must not count as silent.
            self.connection.heard();
            let _ = tokio::time::timeout(RECHECK, less).await;
        }
    }
}

/// Bytes of a request that are reserved in some of the budgets only.
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
