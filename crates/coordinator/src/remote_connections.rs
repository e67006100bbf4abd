//! The ways to other Redis. Their number is limited, and unused ones are closed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::OnceCell;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::bus::Bus;
use hero_model::ContextId;

/// Maximum number of ways to contexts of other Redis.
const MOST: usize = 256;
/// Number of ways that a context may keep when the maximum is reached.
const SHARE: usize = 64;
/// A way that was used within this time may be in use.
const IN_USE: Duration = Duration::from_secs(30);

/// An address, and a context there.
pub(super) type Place = (String, ContextId);

/// A way to a context of another Redis. It ends when it is dropped.
pub(super) struct Way {
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

impl Way {
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

    /// Returns a token that is cancelled when the way is closed.
    pub(super) fn end(&self) -> CancellationToken {
        self.end.clone()
    }

    /// Returns the time since it was last used.
    fn idle(&self, now: Instant) -> Duration {
        now.saturating_duration_since(*self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The open ways.
#[derive(Default)]
pub(super) struct Ways(Mutex<HashMap<Place, Arc<Way>>>);

impl Ways {
    fn all(&self) -> MutexGuard<'_, HashMap<Place, Arc<Way>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the way of a context to a place, and notes its use. If the maximum is reached, a new way replaces
    /// another one: one that leads nowhere, else one whose end has never answered, else one that was unused for long,
    /// and among these the one that was unused for longest. A context that has its share replaces one of its own. A
    /// context below its share may replace any way of a context above its share, even one in use. Returns `None` if all
    /// candidates may be in use.
    pub(super) fn to(&self, from: ContextId, place: Place, now: Instant) -> Option<Arc<Way>> {
        let mut all = self.all();
        if let Some(way) = all.get(&place) {
            way.touch(now);
            return Some(Arc::clone(way));
        }
        if all.len() >= MOST {
            let mut of_contexts: HashMap<ContextId, usize> = HashMap::new();
            for way in all.values() {
                *of_contexts.entry(way.from).or_default() += 1;
            }
            let share_of = |context| of_contexts.get(&context).copied().unwrap_or(0);
            let has_share = share_of(from) >= SHARE;
            let worth = |way: &Arc<Way>| {
                let idle = way.idle(now);
                let leads_nowhere = way.bus.get().is_none() && Arc::strong_count(way) == 1;
                let is_spare = !has_share && share_of(way.from) > SHARE;
                let ranks = [is_spare, idle >= IN_USE, !way.is_answered(), leads_nowhere];
                Some((ranks.iter().rposition(|applies| *applies)?, idle))
            };
            let giving = all.iter().filter(|(_, way)| !has_share || way.from == from);
            let (_, place) = giving.filter_map(|(place, way)| Some((worth(way)?, place))).max_by_key(|(worth, _)| *worth)?;
            let place = place.clone();
            all.remove(&place);
        }
        let way = Arc::new(Way::new(from, now));
        all.insert(place, Arc::clone(&way));
        Some(way)
    }

    /// Notes that a place answers.
    pub(super) fn answered(&self, place: &Place) {
        if let Some(way) = self.all().get(place) {
            way.is_answered.store(true, Ordering::Relaxed);
        }
    }

    /// Closes the ways that were unused for `kept`.
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

    const FROM: ContextId = ContextId(0);

    /// A way that leads somewhere.
    fn answering(ways: &Ways, from: ContextId, n: u32, now: Instant) -> Arc<Way> {
        let way = ways.to(from, place(n), now).unwrap();
        ways.answered(&place(n));
        way
    }

    #[tokio::test]
    async fn a_way_that_nobody_goes_makes_room_for_another_and_one_in_use_does_not() {
        let (ways, now) = (Ways::default(), Instant::now());
        let mut held: Vec<Arc<Way>> = (0..256).map(|n| answering(&ways, FROM, n, now)).collect();
        assert!(ways.to(FROM, place(256), now + IN_USE / 2).is_none(), "all may be in use");
        let later = now + IN_USE;
        for n in 1..256 {
            ways.to(FROM, place(n), later).unwrap();
        }
        let first = held.swap_remove(0).end();
        assert!(!first.is_cancelled());
        held.push(answering(&ways, FROM, 256, later));
        assert!(first.is_cancelled(), "what listens there ends");
        assert!(ways.to(FROM, place(0), later).is_none());
        // A way that leads nowhere is replaced at once.
        let failed = held.pop().unwrap().end();
        held.push(ways.to(FROM, place(0), later).unwrap());
        assert!(failed.is_cancelled());
    }

    #[tokio::test]
    async fn a_way_at_whose_end_nobody_has_answered_makes_room_whatever_its_age() {
        let (ways, now) = (Ways::default(), Instant::now());
        let answers: Vec<Arc<Way>> = (0..100).map(|n| answering(&ways, FROM, n, now)).collect();
        // Each of them is in use.
        let silent: Vec<Arc<Way>> = (100..256).map(|n| ways.to(FROM, place(n), now + Duration::from_millis(n.into())).unwrap()).collect();
        let held = ways.to(ContextId(1), place(256), now + IN_USE * 2);
        assert!(held.is_some() && silent.len() == 156);
        assert!(ways.all().get(&place(100)).is_none(), "the one that was not gone for longest");
        assert!((0..100).all(|n| ways.all().contains_key(&place(n))) && answers.len() == 100);
    }

    #[tokio::test]
    async fn no_context_takes_the_ways_of_all_others() {
        let (ways, now, other) = (Ways::default(), Instant::now(), ContextId(1));
        let mut held: Vec<Arc<Way>> = (0..256).map(|n| answering(&ways, FROM, n, now)).collect();
        held.extend((0..64).map(|n| answering(&ways, other, 1000 + n, now)));
        assert!(ways.to(other, place(2000), now).is_none(), "it has its share");
        assert!(ways.to(FROM, place(2000), now).is_none(), "it has more than that");
        let of_other = ways.all().values().filter(|way| way.from == other).count();
        assert_eq!((of_other, ways.all().len()), (SHARE, MOST));
    }

    #[tokio::test]
    async fn a_way_that_nobody_has_gone_for_long_is_forgotten() {
        let (ways, now, kept) = (Ways::default(), Instant::now(), Duration::from_secs(600));
        let (one, two) = (ways.to(FROM, place(1), now).unwrap(), ways.to(FROM, place(2), now).unwrap());
        two.touch(now + kept / 2);
        ways.drop_unused(kept, now + kept);
        let (ended, stays) = (one.end(), two.end());
        drop((one, two));
        assert!(ended.is_cancelled() && !stays.is_cancelled());
    }
}
