//! Permits for pools of local runners. Runners take turns, as contexts do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::model::{ContextId, RunnerId};

/// The free permits for pools of local runners in this process, and the runners that wait for one.
#[derive(Debug)]
pub(super) struct PoolPermits(Mutex<State>);

/// A runner, and its context.
pub(super) type LocalRunner = (ContextId, RunnerId);

#[derive(Debug)]
struct State {
    free: usize,
    /// The number of permits that will be free when the jobs there have ended.
    leaving: usize,
    /// For each waiting runner, the time since which it waits and the time of its last request.
    waiting: BTreeMap<LocalRunner, (Instant, Instant)>,
    /// The time at which a context with waiting runners last got a permit.
    served: BTreeMap<ContextId, Instant>,
}

/// A runner that has not asked for this long no longer waits.
const WAITER_TIMEOUT: Duration = Duration::from_secs(5);

impl PoolPermits {
    pub(super) fn new(permits: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { free: permits, leaving: 0, waiting: BTreeMap::new(), served: BTreeMap::new() })))
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a permit, if one is free and no other runner comes first. Otherwise the runner waits and must ask again.
    pub(super) fn take(self: &Arc<Self>, who: LocalRunner, now: Instant) -> Option<PoolPermit> {
        let mut state = self.locked();
        state.waiting.retain(|_, (_, asked)| now.saturating_duration_since(*asked) < WAITER_TIMEOUT);
        state.waiting.entry(who).or_insert((now, now)).1 = now;
        if state.free == 0 || state.before(who) >= state.free {
            return None;
        }
        state.served.insert(who.0, now);
        state.waiting.remove(&who);
        state.free -= 1;
        Some(PoolPermit { runner_permits: Arc::clone(self), is_left: false })
    }

    /// Keeps a waiting runner in the line without a request.
    pub(super) fn stay(&self, who: LocalRunner, now: Instant) {
        if let Some((_, asked)) = self.locked().waiting.get_mut(&who) {
            *asked = now;
        }
    }

    /// Returns the number of runners ahead of it, if it waits.
    pub(super) fn before(&self, who: LocalRunner) -> Option<usize> {
        let mut state = self.locked();
        state.waiting.contains_key(&who).then(|| state.before(who))
    }

    /// Removes a runner from the line.
    pub(super) fn give_up(&self, who: LocalRunner) {
        self.locked().waiting.remove(&who);
    }
}

impl State {
    /// Returns the number of runners ahead of it. Contexts take turns: the first runner of each context comes before
    /// the second of any. Among the first, the one whose context got no permit for longest comes first. Within a
    /// context, runners keep the order in which they began to wait.
    fn before(&mut self, who: LocalRunner) -> usize {
        let mut of_contexts: BTreeMap<ContextId, Vec<(Instant, LocalRunner)>> = BTreeMap::new();
        for (other, (since, _)) in &self.waiting {
            of_contexts.entry(other.0).or_default().push((*since, *other));
        }
        // A context without waiting runners starts over.
        self.served.retain(|context, _| of_contexts.contains_key(context));
        let mut order: Vec<(usize, Instant, LocalRunner)> = Vec::new();
        for (context, mut all) in of_contexts {
            all.sort_unstable();
            let Some((first, _)) = all.first().copied() else { continue };
            let since = self.served.get(&context).map_or(first, |served| first.max(*served));
            order.extend(all.into_iter().enumerate().map(|(rank, (_, other))| (rank, since, other)));
        }
        let own = order.iter().find(|(.., other)| *other == who).copied();
        own.map_or(usize::MAX, |own| order.iter().filter(|other| **other < own).count())
    }
}

/// The right of a runner to have a pool, until dropped.
#[derive(Debug)]
pub(super) struct PoolPermit {
    runner_permits: Arc<PoolPermits>,
    is_left: bool,
}

impl PoolPermit {
    /// Whether a waiting runner needs this permit, because too few are free or about to be.
    pub(super) fn is_wanted(&self) -> bool {
        let state = self.runner_permits.locked();
        state.waiting.len() > state.free + state.leaving
    }

    /// Notes that the permit will be free when the jobs there have ended.
    pub(super) fn leave(&mut self) {
        self.runner_permits.locked().leaving += usize::from(!std::mem::replace(&mut self.is_left, true));
    }
}

impl Drop for PoolPermit {
    fn drop(&mut self) {
        let mut state = self.runner_permits.locked();
        state.free += 1;
        state.leaving -= usize::from(self.is_left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(id: u32) -> LocalRunner {
        (ContextId(0), RunnerId(id))
    }

    #[test]
    fn who_has_waited_longest_is_next_and_as_many_make_way_as_wait() {
        let (runner_permits, now) = (PoolPermits::new(2), Instant::now());
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let (mut one, mut two) = (runner_permits.take(who(1), at(0)).unwrap(), runner_permits.take(who(2), at(0)).unwrap());
        assert!(!one.is_wanted() && runner_permits.take(who(3), at(1)).is_none());
        assert!(one.is_wanted() && two.is_wanted());
        one.leave();
        assert!(!two.is_wanted(), "one permit is enough for one");
        assert!(runner_permits.take(who(4), at(2)).is_none() && two.is_wanted());
        drop(one);
        assert!(runner_permits.take(who(4), at(3)).is_none(), "the third has waited longer");
        let three = runner_permits.take(who(3), at(3)).unwrap();
        two.leave();
        runner_permits.give_up(who(4));
        drop(two);
        drop(three);
        assert!(runner_permits.take(who(5), at(4)).is_some() && runner_permits.take(who(6), at(4)).is_some());
    }

    #[test]
    fn contexts_take_turns_and_then_their_runners() {
        let (runner_permits, now) = (PoolPermits::new(1), Instant::now());
        let at = |seconds: u64| now + Duration::from_secs(seconds);
        let many: Vec<LocalRunner> = (1..=4).map(|id| (ContextId(1), RunnerId(id))).collect();
        let one = (ContextId(2), RunnerId(1));
        let mut permit = runner_permits.take(many[0], at(0));
        let mut waiting = vec![many[1], many[2], many[3], one];
        let mut got = Vec::new();
        for time in [2, 4, 6, 8, 10] {
            assert!(waiting.iter().all(|who| runner_permits.take(*who, at(time)).is_none()));
            assert!(permit.take().is_some());
            let (who, taken) = waiting.iter().find_map(|who| Some((*who, runner_permits.take(*who, at(time + 1))?))).unwrap();
            (permit, got) = (Some(taken), [got, vec![who]].concat());
            // The runner of the second context has work again at once.
            waiting.retain(|other| *other != who || who == one);
        }
        assert_eq!(got, [many[1], one, many[2], one, many[3]]);
    }

    #[test]
    fn a_caller_that_stopped_asking_delays_nobody() {
        let (runner_permits, now) = (PoolPermits::new(1), Instant::now());
        let permit = runner_permits.take(who(1), now).unwrap();
        assert!(runner_permits.take(who(2), now).is_none());
        drop(permit);
        assert!(runner_permits.take(who(3), now + WAITER_TIMEOUT / 2).is_none());
        assert!(runner_permits.take(who(3), now + WAITER_TIMEOUT).is_some());
    }
}
