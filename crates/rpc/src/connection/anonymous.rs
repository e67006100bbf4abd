//! Connections of callers without a login, where callers must log in. They make way for others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::addresses::counted;

/// The time limit of a connection without a login. A login takes a nonce, which lasts less long.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(600);
/// The shortest interval between log lines about closed connections.
const LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Registers the counters of this module, so that they show before the first event.
pub(crate) fn announce() {
    for reason in ["place", "time"] {
        metrics::counter!("hero_rpc_strangers_closed_total", "reason" => reason).increment(0);
    }
}

/// All connections of callers without a login.
#[derive(Debug, Default)]
pub(crate) struct AnonymousConnections {
    open: Mutex<Open>,
    /// The number closed for others since the last log line, and the time of that line.
    said: Mutex<(u64, Option<Instant>)>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    /// The connections of each address, the oldest first, each with a token that closes it.
    of: HashMap<IpAddr, BTreeMap<u64, CancellationToken>>,
    /// The addresses in order: the last one has the most connections, or among equals the oldest first connection.
    ranks: BTreeSet<(usize, Reverse<u64>, IpAddr)>,
}

impl Open {
    /// Changes the connections of an address.
    fn change<T>(&mut self, address: IpAddr, change: impl FnOnce(&mut BTreeMap<u64, CancellationToken>) -> T) -> T {
        let rank = |of: &BTreeMap<u64, CancellationToken>| of.first_key_value().map(|(first, _)| (of.len(), Reverse(*first), address));
        let of = self.of.entry(address).or_default();
        if let Some(rank) = rank(of) {
            self.ranks.remove(&rank);
        }
        let changed = change(of);
        match rank(of) {
            Some(rank) => drop(self.ranks.insert(rank)),
            None => drop(self.of.remove(&address)),
        }
        changed
    }
}

impl AnonymousConnections {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the oldest connection of the address that has most, or of this address. Returns false if there is none.
    ///
    /// So a flood from one address harms only that address, and other callers have time to log in.
    pub(crate) fn make_way(&self, of: Option<IpAddr>) -> bool {
        let mut open = self.open();
        let Some(address) = of.map(counted).or_else(|| open.ranks.last().map(|(.., address)| *address)) else { return false };
        let Some((_, end)) = open.change(address, BTreeMap::pop_first) else { return false };
        drop(open);
        end.cancel();
        metrics::counter!("hero_rpc_strangers_closed_total", "reason" => "place").increment(1);
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let (closed, last) = &mut *said;
        *closed += 1;
        if last.is_none_or(|last| last.elapsed() >= LOG_INTERVAL) {
            let limit = if of.is_some() { "max_per_address" } else { "max_connections" };
            tracing::warn!(
                limit,
                closed = *closed,
                %address,
                "connections of callers that have not logged in are closed, because as many are open as may be and others come"
            );
            *said = (0, Some(Instant::now()));
        }
        true
    }
}

/// A connection, with or without a login.
#[derive(Debug)]
pub(crate) struct TrackedConnection {
    anonymous: Arc<AnonymousConnections>,
    address: IpAddr,
    /// The token that closes the connection.
    end: CancellationToken,
    /// Its number and the start of its time without a login, while it has none.
    since: Mutex<Option<(u64, Instant)>>,
}

impl TrackedConnection {
    pub(crate) fn new(anonymous: &Arc<AnonymousConnections>, address: IpAddr, end: CancellationToken, is_known: bool) -> Self {
        let tracked = Self { anonymous: Arc::clone(anonymous), address: counted(address), end, since: Mutex::default() };
        tracked.set_known(is_known);
        tracked
    }

    /// Records whether the connection has a login from now on.
    pub(crate) fn set_known(&self, is_known: bool) {
        let mut since = self.since();
        match *since {
            Some((number, _)) if is_known => {
                self.anonymous.open().change(self.address, |of| of.remove(&number));
                *since = None;
            }
            None if !is_known => {
                let mut open = self.anonymous.open();
                let number = open.next;
                open.next += 1;
                open.change(self.address, |of| of.insert(number, self.end.clone()));
                *since = Some((number, Instant::now()));
            }
            _ => {}
        }
    }

    /// Returns when it has been without a login for longer than allowed.
    pub(crate) async fn outstayed(&self) {
        self.lasts(MAX_CONNECTION_TIME).await;
        metrics::counter!("hero_rpc_strangers_closed_total", "reason" => "time").increment(1);
    }

    /// Returns when it has been without a login for this long.
    async fn lasts(&self, time: Duration) {
        loop {
            let been = self.since().map_or(Duration::ZERO, |(_, since)| since.elapsed());
            match time.checked_sub(been) {
                Some(left) if !left.is_zero() => tokio::time::sleep(left).await,
                _ => return,
            }
        }
    }

    fn since(&self) -> MutexGuard<'_, Option<(u64, Instant)>> {
        self.since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TrackedConnection {
    fn drop(&mut self) {
        self.set_known(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a connection from 192.0.2.`host`, and a token that shows when it is closed.
    fn tracked(anonymous: &Arc<AnonymousConnections>, host: u8) -> (TrackedConnection, CancellationToken) {
        let end = CancellationToken::new();
        (TrackedConnection::new(anonymous, IpAddr::from([192, 0, 2, host]), end.clone(), false), end)
    }

    #[test]
    fn the_oldest_connection_of_the_address_that_has_most_makes_way_and_nobody_who_has_logged_in() {
        let anonymous = Arc::default();
        let connections: Vec<_> = [1, 2, 2, 2, 3, 3].map(|host| tracked(&anonymous, host)).into();
        connections[1].0.set_known(true);
        connections[4].0.set_known(true);
        let closed = || connections.iter().map(|(_, end)| u8::from(end.is_cancelled())).collect::<Vec<_>>();
        for expected in [[0, 0, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 0, 1, 1, 0, 0], [1, 0, 1, 1, 0, 1]] {
            assert!(anonymous.make_way(None));
            assert_eq!(closed(), expected);
        }
        assert!(!anonymous.make_way(None));
        // After a logout, the caller counts as the newest one without a login.
        connections[4].0.set_known(false);
        let another = tracked(&anonymous, 3);
        assert!(!anonymous.make_way(Some(IpAddr::from([192, 0, 2, 1]))));
        assert!(anonymous.make_way(Some(IpAddr::from([192, 0, 2, 3]))) && connections[4].1.is_cancelled() && !another.1.is_cancelled());
        drop((connections, another));
        let open = anonymous.open();
        assert!(open.of.is_empty() && open.ranks.is_empty());
    }

    #[tokio::test]
    async fn who_does_not_log_in_may_stay_for_a_time_and_who_does_for_good() {
        let time = Duration::from_millis(20);
        let anonymous = Arc::default();
        let begun = Instant::now();
        let (unknown, known) = (tracked(&anonymous, 1).0, tracked(&anonymous, 1).0);
        known.set_known(true);
        unknown.lasts(time).await;
        assert!(begun.elapsed() >= time);
        assert!(tokio::time::timeout(5 * time, known.lasts(time)).await.is_err());
        // From now on its time counts from zero.
        let begun = Instant::now();
        known.set_known(false);
        known.lasts(time).await;
        assert!(begun.elapsed() >= time);
    }
}
