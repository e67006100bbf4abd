//! The places for pools of local runners, which take turns as contexts do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::{ContextId, RunnerId};

/// How many pools of local runners this process may have at once, and which runners wait for one.
#[derive(Debug)]
pub(super) struct Turns(Mutex<State>);

/// A runner, and its context.
pub(super) type Who = (ContextId, RunnerId);

#[derive(Debug)]
struct State {
    free: usize,
    /// How many places will be free when what runs there has ended.
    leaving: usize,
    /// Since when each waits, and when it last asked.
    waiting: BTreeMap<Who, (Instant, Instant)>,
}

/// Who has not asked for so long does not wait any more.
const ASKS: Duration = Duration::from_secs(5);

impl Turns {
    pub(super) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { free: places, leaving: 0, waiting: BTreeMap::new() })))
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, if one is free for whom nobody has waited longer. Otherwise it waits, and asks again.
    pub(super) fn take(self: &Arc<Self>, who: Who, now: Instant) -> Option<Place> {
        let mut state = self.locked();
        state.waiting.retain(|_, (_, asked)| now.saturating_duration_since(*asked) < ASKS);
        let (since, asked) = state.waiting.entry(who).or_insert((now, now));
        *asked = now;
        let since = *since;
        if state.waiting.values().filter(|(other, _)| *other < since).count() >= state.free {
            return None;
        }
        state.waiting.remove(&who);
        state.free -= 1;
        Some(Place { turns: Arc::clone(self), is_left: false })
    }

    /// It wants no place any more.
    pub(super) fn give_up(&self, who: Who) {
        self.locked().waiting.remove(&who);
    }
}

/// The right of a runner to have a pool, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    turns: Arc<Turns>,
    is_left: bool,
}

impl Place {
    /// Whether a place is wanted that is neither free nor about to be.
    pub(super) fn is_wanted(&self) -> bool {
        let state = self.turns.locked();
        state.waiting.len() > state.free + state.leaving
    }

    /// Says that it will be free when what runs there has ended.
    pub(super) fn leave(&mut self) {
        self.turns.locked().leaving += usize::from(!std::mem::replace(&mut self.is_left, true));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.turns.locked();
        state.free += 1;
        state.leaving -= usize::from(self.is_left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(id: u32) -> Who {
        (ContextId(0), RunnerId(id))
    }

    #[test]
    fn who_has_waited_longest_is_next_and_as_many_make_way_as_wait() {
        let (turns, now) = (Turns::new(2), Instant::now());
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let (mut one, mut two) = (turns.take(who(1), at(0)).unwrap(), turns.take(who(2), at(0)).unwrap());
        assert!(!one.is_wanted() && turns.take(who(3), at(1)).is_none());
        assert!(one.is_wanted() && two.is_wanted());
        one.leave();
        assert!(!two.is_wanted(), "one place is enough for one");
        assert!(turns.take(who(4), at(2)).is_none() && two.is_wanted());
        drop(one);
        assert!(turns.take(who(4), at(3)).is_none(), "the third has waited longer");
        let three = turns.take(who(3), at(3)).unwrap();
        two.leave();
        turns.give_up(who(4));
        drop(two);
        drop(three);
        assert!(turns.take(who(5), at(4)).is_some() && turns.take(who(6), at(4)).is_some());
    }

    #[test]
    fn who_asks_no_more_holds_up_nobody() {
        let (turns, now) = (Turns::new(1), Instant::now());
        let place = turns.take(who(1), now).unwrap();
        assert!(turns.take(who(2), now).is_none());
        drop(place);
        assert!(turns.take(who(3), now + ASKS / 2).is_none());
        assert!(turns.take(who(3), now + ASKS).is_some());
    }
}
