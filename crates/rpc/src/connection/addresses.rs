//! Counts the calls, subscriptions and connections of each address, and its rate of calls.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::limits::Limits;
use crate::memory::{ConnectionMemory, Divided};

/// A counter of units in use, with a limit.
#[derive(Debug, Default)]
pub(crate) struct InUse {
    count: AtomicU32,
    /// Notifies one waiter that a permit is free.
    freed: Notify,
}

impl InUse {
    /// Counts one more unit, unless `limit` are in use already.
    fn add(&self, limit: u32) -> bool {
        self.count.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| (count < limit).then_some(count + 1)).is_ok()
    }

    fn remove(&self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
        self.freed.notify_one();
    }

    pub(crate) fn get(&self) -> u32 {
        self.count.load(Ordering::Acquire)
    }
}

/// A permit to use one unit, returned when dropped.
#[derive(Debug)]
pub(crate) struct Permit<T: AsRef<InUse>>(T);

impl<T: AsRef<InUse>> Permit<T> {
    /// Takes a permit, unless `limit` are in use.
    pub(crate) fn take(in_use: T, limit: u32) -> Option<Self> {
        in_use.as_ref().add(limit).then(|| Self(in_use)) // Not `then_some`: a permit that was not taken must not be given back.
    }

    /// Waits until it can take a permit.
    pub(crate) async fn wait(in_use: T, limit: u32) -> Self {
        loop {
            let freed = in_use.as_ref().freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable();
            if in_use.as_ref().add(limit) {
                break;
            }
            freed.await;
        }
        Self(in_use)
    }
}

impl<T: AsRef<InUse>> Drop for Permit<T> {
    fn drop(&mut self) {
        self.0.as_ref().remove();
    }
}

/// A limit for the rate of calls: an even flow, and at most the calls of one second at once (a generic cell rate). It needs no lock.
#[derive(Debug)]
pub(crate) struct Rate {
    /// When the calls so far would have ended had they come evenly, in nanoseconds after `began`.
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

    /// Lets one call pass at `now`, or returns how long to wait. A rate of 0 lets all pass.
    pub(crate) fn pass(&self, per_second: u32, now: Instant) -> Result<(), Duration> {
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

/// The usage of one address, over all its connections.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) rate: Rate,
    /// The rate of wrong tokens.
    pub(crate) wrong_tokens: Rate,
    pub(crate) calls: InUse,
    /// Notifications that wait for a permit of `calls`.
    pub(crate) waiting: InUse,
    pub(crate) subscriptions: InUse,
    connections: InUse,
    /// The most connections that it may have.
    most: u32,
    budget: Divided,
}

impl Address {
    /// Whether it has its most connections.
    pub(crate) fn is_full(&self) -> bool {
        self.connections.get() >= self.most
    }
}

/// A connection's handle of its address; the connection counts as open while this lives.
#[derive(Debug)]
pub(crate) struct AddressHandle(Arc<Address>);

impl std::ops::Deref for AddressHandle {
    type Target = Address;

    fn deref(&self) -> &Address {
        &self.0
    }
}

impl Drop for AddressHandle {
    fn drop(&mut self) {
        self.0.connections.remove();
    }
}

/// All addresses that are connected, or were a moment ago.
#[derive(Debug)]
pub(crate) struct Addresses {
    known: Mutex<HashMap<IpAddr, Arc<Address>>>,
    limits: Limits,
    /// Whether callers must log in.
    login: bool,
    budget: Divided,
}

/// Returns the unit that counts as one address: for IPv6 a network of 64 bits, which one subscriber has at least. Both spellings of an IPv4
/// address count as the same.
pub(crate) fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
        address @ IpAddr::V4(_) => address,
    }
}

impl Addresses {
    pub(crate) fn new(limits: Limits, login: bool) -> Self {
        let budget = Divided::of_server(&limits, login);
        Self { known: Mutex::default(), limits, login, budget }
    }

    /// Returns a handle of `address` for a new connection, unless it has its most connections and `more`. No address gets more than half of
    /// all.
    pub(crate) fn join(&self, address: IpAddr, more: u32) -> Option<AddressHandle> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() == known.capacity() {
            // Addresses are removed before the map grows, but not while their rate is used up, so that a client cannot reset its rate by
            // reconnecting.
            let now = Instant::now();
            known.retain(|_, address| address.connections.get() > 0 || !address.rate.is_idle(now) || !address.wrong_tokens.is_idle(now));
        }
        let address = known.entry(counted(address)).or_insert_with(|| self.address());
        address.connections.add(address.most.saturating_add(more)).then(|| AddressHandle(Arc::clone(address)))
    }

    fn address(&self) -> Arc<Address> {
        let (rate, wrong_tokens, calls, waiting, subscriptions, connections) = Default::default();
        Arc::new(Address {
            rate,
            wrong_tokens,
            calls,
            waiting,
            subscriptions,
            connections,
            most: self.limits.connections_per_address.min((self.limits.connections / 2).max(1)),
            budget: Divided::of_address(&self.limits, self.login),
        })
    }

    /// Returns an address of its own for a connection of the operator, so that others on this machine cannot lock the operator out.
    pub(crate) fn of_operator(&self) -> AddressHandle {
        let address = self.address();
        address.connections.add(1);
        AddressHandle(address)
    }

    /// Returns a new connection of this address.
    pub(crate) fn connection(&self, handle: &AddressHandle) -> Arc<ConnectionMemory> {
        ConnectionMemory::open(&self.limits, &handle.budget, &self.budget, !self.login)
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
    fn a_refused_permit_is_not_returned() {
        struct Shared<'a>(&'a InUse);
        impl AsRef<InUse> for Shared<'_> {
            fn as_ref(&self) -> &InUse {
                self.0
            }
        }
        let in_use = InUse::default();
        let permit = Permit::take(Shared(&in_use), 1);
        assert!(permit.is_some() && Permit::take(Shared(&in_use), 1).is_none());
        assert_eq!(in_use.get(), 1);
        drop(permit);
        assert_eq!(in_use.get(), 0);
    }

    #[test]
    fn an_address_has_a_limited_number_of_connections() {
        let addresses = Addresses::new(Limits { connections: 100, connections_per_address: 1, ..Limits::default() }, false);
        let address = IpAddr::from([192, 0, 2, 1]);
        let first = addresses.join(address, 0).unwrap();
        assert!(addresses.join(address, 0).is_none());
        assert!(addresses.join(IpAddr::from([192, 0, 2, 2]), 0).is_some());
        drop(first);
        assert!(addresses.join(address, 0).is_some());
    }

    #[test]
    fn what_one_subscriber_of_ipv6_has_is_one_address_however_an_address_is_written() {
        let addresses = Addresses::new(Limits { connections: 100, connections_per_address: 1, ..Limits::default() }, false);
        let join = |address: &str| addresses.join(address.parse().unwrap(), 0);
        let _first = join("2001:db8:1:2::1").unwrap();
        assert!(join("2001:db8:1:2:ffff::7").is_none());
        let _next = join("2001:db8:1:3::1").unwrap();
        let _other = join("192.0.2.1").unwrap();
        assert!(join("::ffff:192.0.2.1").is_none() && join("192.0.2.2").is_some());
    }

    #[test]
    fn no_address_gets_more_than_half_of_all_connections() {
        let addresses = Addresses::new(Limits { connections: 10, connections_per_address: 100, ..Limits::default() }, false);
        let address = IpAddr::from([192, 0, 2, 1]);
        let handles: Vec<_> = std::iter::from_fn(|| addresses.join(address, 0)).collect();
        assert_eq!(handles.len(), 5);
        assert!(addresses.join(IpAddr::from([192, 0, 2, 2]), 0).is_some());
    }
}
