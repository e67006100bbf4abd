//! The connections to other Redis. Their number is limited, and unused ones are closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::bus::Bus;
use hero_model::ContextId;

/// Maximum number of connections to contexts of other Redis.
const MAX_CONNECTIONS: usize = 256;
/// Number of connections that a context may keep when the maximum is reached.
const CONNECTIONS_PER_CONTEXT: usize = 64;
/// A connection that was used within this time may be in use.
const RECENT_USE: Duration = Duration::from_secs(30);

/// An address, and a context there.
pub(super) type RemoteContext = (String, ContextId);

/// A connection to a context of another Redis. It ends when it is dropped.
pub(super) struct RemoteConnection {
    /// Its bus, once it is connected.
    pub(super) bus: OnceCell<Arc<dyn Bus>>,
    /// The context that first asked for it.
    from: ContextId,
    /// Whether anything ever came over it.
    is_answered: AtomicBool,
    used: Mutex<Instant>,
    end: CancellationToken,
    _ends: DropGuard,
}

impl RemoteConnection {
    fn new(from: ContextId, now: Instant) -> Self {
        let end = CancellationToken::new();
        let (bus, is_answered, used) = (OnceCell::new(), AtomicBool::new(false), Mutex::new(now));
        Self { bus, from, is_answered, used, _ends: end.clone().drop_guard(), end }
    }

    /// Notes that it is used now.
    pub(super) fn touch(&self, now: Instant) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// Notes that something came over it now.
    pub(super) fn answered(&self, now: Instant) {
        self.is_answered.store(true, Ordering::Relaxed);
        self.touch(now);
    }

    fn is_answered(&self) -> bool {
        self.is_answered.load(Ordering::Relaxed)
    }

    /// Returns a token that is cancelled when the connection is closed.
    pub(super) fn end(&self) -> CancellationToken {
        self.end.clone()
    }

    /// Returns the time since it was last used.
    fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The open connections.
#[derive(Default)]
pub(super) struct RemoteConnections(Mutex<HashMap<RemoteContext, Arc<RemoteConnection>>>);

impl RemoteConnections {
    fn all(&self) -> MutexGuard<'_, HashMap<RemoteContext, Arc<RemoteConnection>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the connection of a context to a remote context, and notes its use. If the maximum is reached, a new
    /// connection replaces another one: one that failed, else one whose end has never answered, else one that was
    /// unused for long, and among these the one that was unused for longest. A context that has its share replaces one
    /// of its own. A context below its share may replace any connection of a context above its share, even one in use.
    /// Returns `None` if all candidates may be in use.
    pub(super) fn to(&self, from: ContextId, remote: RemoteContext, now: Instant) -> Option<Arc<RemoteConnection>> {
        let mut all = self.all();
        if let Some(connection) = all.get(&remote) {
            connection.touch(now);
            return Some(Arc::clone(connection));
        }
        if all.len() >= MAX_CONNECTIONS {
            let mut of_contexts: HashMap<ContextId, usize> = HashMap::new();
            for connection in all.values() {
                *of_contexts.entry(connection.from).or_default() += 1;
            }
            let share_of = |context| of_contexts.get(&context).copied().unwrap_or(0);
            let has_share = share_of(from) >= CONNECTIONS_PER_CONTEXT;
            let worth = |connection: &Arc<RemoteConnection>| {
                let idle = connection.idle(now);
                let has_failed = connection.bus.get().is_none() && Arc::strong_count(connection) == 1;
                let is_spare = !has_share && share_of(connection.from) > CONNECTIONS_PER_CONTEXT;
                let ranks = [is_spare, idle >= RECENT_USE, !connection.is_answered(), has_failed];
                Some((ranks.iter().rposition(|applies| *applies)?, idle))
            };
            let giving = all.iter().filter(|(_, connection)| !has_share || connection.from == from);
            let (_, remote) =
                giving.filter_map(|(remote, connection)| Some((worth(connection)?, remote))).max_by_key(|(worth, _)| *worth)?;
            let remote = remote.clone();
            all.remove(&remote);
        }
        let connection = Arc::new(RemoteConnection::new(from, now));
        all.insert(remote, Arc::clone(&connection));
        Some(connection)
    }

    /// Notes that a remote context answers.
    pub(super) fn answered(&self, remote: &RemoteContext) {
        if let Some(connection) = self.all().get(remote) {
            connection.is_answered.store(true, Ordering::Relaxed);
        }
    }

    /// Closes the connections that were unused for `kept`.
    pub(super) fn drop_unused(&self, kept: Duration, now: Instant) {
        self.all().retain(|_, connection| connection.idle(now) < kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(n: u32) -> RemoteContext {
        ("redis://h".to_owned(), ContextId(n))
    }

    const FROM: ContextId = ContextId(0);

    /// A connection that answers.
    fn answering(connections: &RemoteConnections, from: ContextId, n: u32, now: Instant) -> Arc<RemoteConnection> {
        let connection = connections.to(from, remote(n), now).unwrap();
        connections.answered(&remote(n));
        connection
    }

    #[tokio::test]
    async fn an_unused_connection_makes_room_for_another_and_one_in_use_does_not() {
        let (connections, now) = (RemoteConnections::default(), Instant::now());
        let mut held: Vec<Arc<RemoteConnection>> = (0..256).map(|n| answering(&connections, FROM, n, now)).collect();
        assert!(connections.to(FROM, remote(256), now + RECENT_USE / 2).is_none(), "all may be in use");
        let later = now + RECENT_USE;
        for n in 1..256 {
            connections.to(FROM, remote(n), later).unwrap();
        }
        let first = held.swap_remove(0).end();
        assert!(!first.is_cancelled());
        held.push(answering(&connections, FROM, 256, later));
        assert!(first.is_cancelled(), "what listens there ends");
        assert!(connections.to(FROM, remote(0), later).is_none());
        // A connection that failed is replaced at once.
        let failed = held.pop().unwrap().end();
        held.push(connections.to(FROM, remote(0), later).unwrap());
        assert!(failed.is_cancelled());
    }

    #[tokio::test]
    async fn a_connection_without_an_answer_makes_room_whatever_its_age() {
        let (connections, now) = (RemoteConnections::default(), Instant::now());
        let answers: Vec<Arc<RemoteConnection>> = (0..100).map(|n| answering(&connections, FROM, n, now)).collect();
        // Each of them is in use.
        let silent: Vec<Arc<RemoteConnection>> =
            (100..256).map(|n| connections.to(FROM, remote(n), now + Duration::from_millis(n.into())).unwrap()).collect();
        let held = connections.to(ContextId(1), remote(256), now + RECENT_USE * 2);
        assert!(held.is_some() && silent.len() == 156);
        assert!(connections.all().get(&remote(100)).is_none(), "the one that was unused for longest");
        assert!((0..100).all(|n| connections.all().contains_key(&remote(n))) && answers.len() == 100);
    }

    #[tokio::test]
    async fn no_context_takes_the_connections_of_all_others() {
        let (connections, now, other) = (RemoteConnections::default(), Instant::now(), ContextId(1));
        let mut held: Vec<Arc<RemoteConnection>> = (0..256).map(|n| answering(&connections, FROM, n, now)).collect();
        held.extend((0..64).map(|n| answering(&connections, other, 1000 + n, now)));
        assert!(connections.to(other, remote(2000), now).is_none(), "it has its share");
        assert!(connections.to(FROM, remote(2000), now).is_none(), "it has more than that");
        let of_other = connections.all().values().filter(|connection| connection.from == other).count();
        assert_eq!((of_other, connections.all().len()), (CONNECTIONS_PER_CONTEXT, MAX_CONNECTIONS));
    }

    #[tokio::test]
    async fn a_connection_that_was_unused_for_long_is_closed() {
        let (connections, now, kept) = (RemoteConnections::default(), Instant::now(), Duration::from_secs(600));
        let (one, two) = (connections.to(FROM, remote(1), now).unwrap(), connections.to(FROM, remote(2), now).unwrap());
        two.touch(now + kept / 2);
        connections.drop_unused(kept, now + kept);
        let (ended, stays) = (one.end(), two.end());
        drop((one, two));
        assert!(ended.is_cancelled() && !stays.is_cancelled());
    }
}
