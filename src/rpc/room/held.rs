use std::sync::Arc;
use std::time::Instant;

use super::{Account, LOOK, MODEST, Room};

/// A request that is held as long as this lives.
#[derive(Debug)]
pub(in crate::rpc) struct Held {
    account: Arc<Account>,
    bytes: u64,
}

impl Held {
    /// Begins to hold a request of no bytes yet.
    pub(in crate::rpc) fn of(account: &Arc<Account>) -> Self {
        Self { account: Arc::clone(account), bytes: 0 }
    }

    /// Holds so many bytes more, or gives false when there is no room.
    ///
    /// Waits as long as the connection itself holds too much: until its reader has taken answers, or its calls have let go of their
    /// requests. Where others hold too much it waits a while. Nothing is read meanwhile.
    #[must_use]
    pub(in crate::rpc) async fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        if !self.hold_here(bytes).await {
            return false;
        }
        let deadline = Instant::now() + self.account.patience;
        let [here, address, server] = &self.account.rooms;
        // Given back if this is dropped while it waits.
        let mut part = Part { rooms: [Some(here), None], bytes };
        // What others of its address hold must not keep those out who hold next to nothing: they ask how things are, or stop a job.
        if here.holds_slightly() {
            address.hold(bytes);
        } else if !address.hold_by(bytes, deadline, &self.account).await {
            return false;
        }
        part.rooms[1] = Some(address);
        // Large requests of others must not keep small ones out, so the room of the server is not asked for these.
        if self.bytes + bytes <= MODEST {
            server.hold(bytes);
        } else if !server.hold_by(bytes, deadline, &self.account).await {
            return false;
        }
        part.rooms = [None, None];
        self.bytes += bytes;
        true
    }

    /// Lets go of everything that is held so far.
    pub(in crate::rpc) fn clear(&mut self) {
        self.account.free(std::mem::take(&mut self.bytes));
    }

    /// Holds so many bytes more in the room of the connection, or gives false if it could not hold that much for nothing else.
    async fn hold_here(&self, bytes: u64) -> bool {
        let [here, ..] = &self.account.rooms;
        loop {
            if here.try_hold(bytes) {
                return true;
            }
            if self.bytes.saturating_add(bytes) >= here.limit {
                return false;
            }
            let less = self.account.less.notified();
            tokio::pin!(less);
            less.as_mut().enable();
            if here.try_hold(bytes) {
                return true;
            }
            // Nothing is read meanwhile, so its silence says nothing.
            self.account.heard();
            let _ = tokio::time::timeout(LOOK, less).await;
        }
    }
}

/// What is held of a request that does not have all its room yet.
struct Part<'r> {
    rooms: [Option<&'r Arc<Room>>; 2],
    bytes: u64,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        for room in self.rooms.iter().flatten() {
            room.free(self.bytes);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.account.free(self.bytes);
    }
}
