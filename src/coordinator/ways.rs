//! The ways to other Redis: as many as may be kept, and those no longer that nobody goes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::bus::Bus;
use crate::model::ContextId;

/// To how many contexts of other Redis there are ways.
const MOST: usize = 256;
/// A way that was gone so short a time ago may be in use.
const IN_USE: Duration = Duration::from_secs(30);

/// An address, and the context that is meant there.
pub(super) type Place = (String, ContextId);

/// A way to a context of another Redis. It ends when it is dropped.
pub(super) struct Way {
    /// Its bus, once there is a connection.
    pub(super) bus: OnceCell<Arc<dyn Bus>>,
    used: Mutex<Instant>,
    end: CancellationToken,
    _ends: DropGuard,
}

impl Way {
    fn new(now: Instant) -> Self {
        let end = CancellationToken::new();
        Self { bus: OnceCell::new(), used: Mutex::new(now), _ends: end.clone().drop_guard(), end }
    }

    /// Notes that it is of use now.
    pub(super) fn touch(&self, now: Instant) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }

    /// What ends with it.
    pub(super) fn end(&self) -> CancellationToken {
        self.end.clone()
    }

    /// For how long nobody has gone it.
    fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The ways that there are.
#[derive(Default)]
pub(super) struct Ways(Mutex<HashMap<Place, Arc<Way>>>);

impl Ways {
    fn all(&self) -> MutexGuard<'_, HashMap<Place, Arc<Way>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way to a place, which counts as gone now. One that is new takes the place of the one that nobody has gone for longest, if there are as
    /// many as may be. Nothing: all of those may be in use.
    pub(super) fn to(&self, place: Place, now: Instant) -> Option<Arc<Way>> {
        let mut all = self.all();
        if let Some(way) = all.get(&place) {
            way.touch(now);
            return Some(Arc::clone(way));
        }
        if all.len() >= MOST {
            // First those that lead nowhere.
            let leads_nowhere = |way: &Arc<Way>| way.bus.get().is_none() && Arc::strong_count(way) == 1;
            let idle = |way: &Arc<Way>| if leads_nowhere(way) { Duration::MAX } else { way.idle(now) };
            let (longest, place) = all.iter().map(|(place, way)| (idle(way), place)).max_by_key(|(idle, _)| *idle)?;
            if longest < IN_USE {
                return None;
            }
            let place = place.clone();
            all.remove(&place);
        }
        let way = Arc::new(Way::new(now));
        all.insert(place, Arc::clone(&way));
        Some(way)
    }

    /// Forgets the ways that nobody has gone for so long.
    pub(super) fn drop_unused(&self, kept: Duration, now: Instant) {
        self.all().retain(|_, way| way.idle(now) < kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(n: u32) -> Place {
        ("redis://h".to_owned(), ContextId(n))
    }

    #[tokio::test]
    async fn a_way_that_nobody_goes_makes_room_for_another_and_one_in_use_does_not() {
        let (ways, now) = (Ways::default(), Instant::now());
        // Somebody is connecting to each.
        let mut held: Vec<Arc<Way>> = (0..256).map(|n| ways.to(place(n), now).unwrap()).collect();
        assert!(ways.to(place(256), now + IN_USE / 2).is_none(), "all may be in use");
        let later = now + IN_USE;
        for n in 1..256 {
            ways.to(place(n), later).unwrap();
        }
        let first = held.swap_remove(0).end();
        assert!(!first.is_cancelled());
        held.push(ways.to(place(256), later).unwrap());
        assert!(first.is_cancelled(), "what listens there ends");
        assert!(ways.to(place(0), later).is_none());
        // One that leads nowhere makes room at once.
        let failed = held.pop().unwrap().end();
        held.push(ways.to(place(0), later).unwrap());
        assert!(failed.is_cancelled());
    }

    #[tokio::test]
    async fn a_way_that_nobody_has_gone_for_long_is_forgotten() {
        let (ways, now, kept) = (Ways::default(), Instant::now(), Duration::from_secs(600));
        let (one, two) = (ways.to(place(1), now).unwrap(), ways.to(place(2), now).unwrap());
        two.touch(now + kept / 2);
        ways.drop_unused(kept, now + kept);
        let (ended, stays) = (one.end(), two.end());
        drop((one, two));
        assert!(ended.is_cancelled() && !stays.is_cancelled());
    }
}
