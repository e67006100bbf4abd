use std::sync::Arc;
use std::time::Instant;

use super::{Account, MODEST, Room};

/// A request that is held as long as this lives.
#[derive(Debug)]
pub(in crate::rpc) struct Held {
    account: Arc<Account>,
    bytes: u64,
}

impl Held {
    pub(super) const fn new(account: Arc<Account>) -> Self {
        Self { account, bytes: 0 }
    }

    /// Holds so many bytes more, or gives false when there is no room. Where others hold too much it waits a while for room.
    #[must_use]
    pub(in crate::rpc) async fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes as u64;
        let deadline = Instant::now() + self.account.patience;
        let [here, address, server] = &self.account.rooms;
        if !here.try_hold(bytes) {
            return false;
        }
        // Given back if this is dropped while it waits.
        let mut part = Part { rooms: [Some(here), None], bytes };
        if !address.hold_by(bytes, deadline, &self.account).await {
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
        for room in &self.account.rooms {
            room.free(self.bytes);
        }
    }
}
