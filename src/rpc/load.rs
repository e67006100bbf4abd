//! What is in use now: calls, subscriptions and connections, of each address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::limits::Limits;
use super::room::{Account, Room};

/// A count with a limit.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    count: AtomicU32,
    /// Tells one of those who wait for a place.
    freed: Notify,
}

impl Gauge {
    /// Counts one more, unless `limit` are counted already.
    fn rise(&self, limit: u32) -> bool {
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| (count < limit).then_some(count + 1)).is_ok()
    }

    fn fall(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.freed.notify_one();
    }

    pub(super) fn get(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }
}

/// One place in a gauge, given back when dropped.
#[derive(Debug)]
pub(super) struct Place<T: AsRef<Gauge>>(T);

impl<T: AsRef<Gauge>> Place<T> {
    /// A place in `gauge`, unless it is full.
    pub(super) fn take(gauge: T, limit: u32) -> Option<Self> {
        gauge.as_ref().rise(limit).then(|| Self(gauge)) // Not `then_some`: a place that was not taken must not be given back.
    }

    /// Waits for a place in `gauge`.
    pub(super) async fn wait(gauge: T, limit: u32) -> Self {
        loop {
            let freed = gauge.as_ref().freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if gauge.as_ref().rise(limit) {
                break;
            }
            freed.await;
        }
        Self(gauge)
    }
}

impl<T: AsRef<Gauge>> Drop for Place<T> {
    fn drop(&mut self) {
        self.0.as_ref().fall();
    }
}

/// A rate of calls: an even flow, and at most a second's worth at once. Holds one number and needs no lock.
#[derive(Debug)]
pub(super) struct Rate {
    /// When the flow so far would have ended had it come evenly: nanoseconds after `began`.
    paid_until: AtomicU64,
    began: Instant,
}

impl Default for Rate {
    fn default() -> Self {
        Self { paid_until: AtomicU64::new(0), began: Instant::now() }
    }
}

impl Rate {
    const SECOND: u64 = 1_000_000_000;

    /// Lets one call pass at `now`, or says how long to wait; 0 lets all pass.
    pub(super) fn pass(&self, per_second: u32, now: Instant) -> Result<(), Duration> {
        if per_second == 0 {
            return Ok(());
        }
        let now = u64::try_from(now.duration_since(self.began).as_nanos()).unwrap_or(u64::MAX / 2);
        let price = Self::SECOND / u64::from(per_second);
        let paid = self.paid_until.fetch_update(Ordering::AcqRel, Ordering::Acquire, |paid_until| {
            let next = paid_until.max(now) + price;
            (next <= now + Self::SECOND).then_some(next)
        });
        paid.map(drop).map_err(|paid_until| Duration::from_nanos((paid_until + price).saturating_sub(now + Self::SECOND)))
    }

    fn is_idle(&self, now: Instant) -> bool {
        now.duration_since(self.began).as_nanos() >= u128::from(self.paid_until.load(Ordering::Acquire))
    }
}

/// What one address uses, over all its connections.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) rate: Rate,
    pub(super) calls: Gauge,
    /// Notifications that wait for a place among the calls.
    pub(super) waiting: Gauge,
    pub(super) subscriptions: Gauge,
    connections: Gauge,
    room: Arc<Room>,
}

/// A connection's share of its address; the connection counts as open while this lives.
#[derive(Debug)]
pub(super) struct Share(Arc<Address>);

impl std::ops::Deref for Share {
    type Target = Address;

    fn deref(&self) -> &Address {
        &self.0
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.connections.fall();
    }
}

/// Every address that is connected, or was a moment ago.
#[derive(Debug)]
pub(super) struct Addresses {
    known: Mutex<HashMap<IpAddr, Arc<Address>>>,
    limits: Limits,
    room: Arc<Room>,
}

impl Addresses {
    pub(super) fn new(limits: Limits) -> Self {
        let room = Room::of_server(&limits);
        Self { known: Mutex::default(), limits, room }
    }

    /// A new connection's share of `address`, unless it has as many as it may. No address gets more than half of all.
    pub(super) fn join(&self, address: IpAddr) -> Option<Share> {
        let limit = self.limits.connections_per_address.min((self.limits.connections / 2).max(1));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == known.capacity() {
            // Before the map grows. Who leaves and comes back at once still finds the rate it used up.
            let now = Instant::now();
            known.retain(|_, address| address.connections.get() > 0 || !address.rate.is_idle(now));
        }
        let address = known.entry(address).or_insert_with(|| {
            let (rate, calls, waiting, subscriptions, connections) = Default::default();
            Arc::new(Address { rate, calls, waiting, subscriptions, connections, room: Room::of_address(&self.limits) })
        });
        address.connections.rise(limit).then(|| Share(Arc::clone(address)))
    }

    /// The account of a new connection with this share.
    pub(super) fn account(&self, share: &Share) -> Arc<Account> {
        Account::open(&self.limits, &share.room, &self.room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_lets_a_seconds_worth_pass_and_says_when_to_come_back() {
        let rate = Rate::default();
        let now = Instant::now();
        for call in 0..10 {
            assert_eq!(rate.pass(10, now), Ok(()), "call {call}");
        }
        let wait = rate.pass(10, now).unwrap_err();
        assert!(wait > Duration::ZERO && wait <= Duration::from_millis(100), "{wait:?}");
        assert_eq!(rate.pass(10, now + wait), Ok(()));
        assert!(rate.pass(10, now + wait).is_err());
    }

    #[test]
    fn a_rate_of_nothing_lets_all_pass() {
        let (rate, now) = (Rate::default(), Instant::now());
        assert!((0..10_000).all(|_| rate.pass(0, now).is_ok()));
    }

    #[test]
    fn a_place_that_was_refused_is_not_given_back() {
        struct Shared<'a>(&'a Gauge);
        impl AsRef<Gauge> for Shared<'_> {
            fn as_ref(&self) -> &Gauge {
                self.0
            }
        }
        let gauge = Gauge::default();
        let place = Place::take(Shared(&gauge), 1);
        assert!(place.is_some() && Place::take(Shared(&gauge), 1).is_none());
        assert_eq!(gauge.get(), 1);
        drop(place);
        assert_eq!(gauge.get(), 0);
    }

    #[test]
    fn an_address_has_a_limited_number_of_connections() {
        let addresses = Addresses::new(Limits { connections: 100, connections_per_address: 1, ..Limits::default() });
        let address = IpAddr::from([192, 0, 2, 1]);
        let first = addresses.join(address).unwrap();
        assert!(addresses.join(address).is_none());
        assert!(addresses.join(IpAddr::from([192, 0, 2, 2])).is_some());
        drop(first);
        assert!(addresses.join(address).is_some());
    }

    #[test]
    fn no_address_gets_more_than_half_of_all_connections() {
        let addresses = Addresses::new(Limits { connections: 10, connections_per_address: 100, ..Limits::default() });
        let address = IpAddr::from([192, 0, 2, 1]);
        let shares: Vec<_> = std::iter::from_fn(|| addresses.join(address)).collect();
        assert_eq!(shares.len(), 5);
        assert!(addresses.join(IpAddr::from([192, 0, 2, 2])).is_some());
    }
}
