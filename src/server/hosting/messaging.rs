//! Contexts that are open only for their messages. Their number is small, and they take turns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedSemaphorePermit;

use super::{Hosted, Hosting, Pools, TIME_SLICE};
use crate::model::ContextId;

/// The maximum number open at once.
pub(super) const MAX_OPEN: usize = 64;

/// A permit for a context to be open only for its messages, until dropped.
pub(super) struct MessagingPermit {
    since: Instant,
    _permit: OwnedSemaphorePermit,
}

/// The sleeping contexts that have messages under way.
#[derive(Default)]
pub(super) struct MessagingQueue {
    waiting: BTreeSet<ContextId>,
    /// The time of the last turn of each.
    had: BTreeMap<ContextId, Instant>,
}

impl MessagingQueue {
    /// Notes whether a context wants to be opened.
    pub(super) fn note(&mut self, context: ContextId, wants: bool) {
        if wants {
            self.waiting.insert(context);
        } else {
            self.waiting.remove(&context);
        }
    }

    /// Forgets the contexts that no longer exist.
    pub(super) fn retain(&mut self, is_there: impl Fn(ContextId) -> bool) {
        self.waiting.retain(|id| is_there(*id));
        self.had.retain(|id, _| is_there(*id));
    }

    /// Takes the next contexts for this many permits: those whose last turn is longest ago.
    pub(super) fn next(&mut self, permits: usize, now: Instant) -> Vec<ContextId> {
        let mut next: Vec<ContextId> = self.waiting.iter().copied().collect();
        next.sort_by_key(|id| self.had.get(id).copied());
        next.truncate(permits);
        for id in &next {
            self.waiting.remove(id);
            self.had.insert(*id, now);
        }
        next
    }

    /// The number of waiting contexts.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

impl Hosting {
    /// Returns a permit for one more context to be open only for its messages, if one is free.
    pub(super) fn messaging_permit(&self) -> Option<MessagingPermit> {
        let permit = Arc::clone(&self.0.messaging_permits).try_acquire_owned().ok()?;
        Some(MessagingPermit { since: Instant::now(), _permit: permit })
    }

    /// The number of free permits.
    pub(super) fn free_messaging_permits(&self) -> usize {
        self.0.messaging_permits.available_permits()
    }

    /// Keeps an idle open context open only for its messages. Returns `false` if no permit is free.
    pub(super) fn stays_for_messages(&self, context: ContextId) -> bool {
        let mut all = self.hosted();
        let Some(hosted) = all.get_mut(&context) else { return true };
        if hosted.messaging.is_none() && matches!(hosted.pools, Pools::None) && hosted.waits_since.is_none() {
            hosted.messaging = self.messaging_permit();
            return hosted.messaging.is_some();
        }
        true
    }

    /// Closes up to this many contexts to make room for others with messages: those that had their turn and are not in
    /// use.
    pub(super) fn end_messaging(&self, many: usize) {
        let is_over = |hosted: &Hosted| match &hosted.messaging {
            Some(messaging) if matches!(hosted.pools, Pools::None) && messaging.since.elapsed() >= TIME_SLICE => Some(messaging.since),
            _ => None,
        };
        let mut over: Vec<(Instant, ContextId)> = self.hosted().iter().filter_map(|(id, hosted)| Some((is_over(hosted)?, *id))).collect();
        over.sort_unstable();
        for (_, id) in over.into_iter().take(many) {
            let hosting = self.clone();
            self.0.tasks.spawn(async move { hosting.shut(id, Some(Duration::ZERO)).await });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_last_turn_is_longest_ago_is_next() {
        let (mut messaging, now) = (MessagingQueue::default(), Instant::now());
        let ids = |ids: &[u32]| ids.iter().copied().map(ContextId).collect::<Vec<_>>();
        for id in 1..=5 {
            messaging.note(ContextId(id), true);
        }
        assert_eq!(messaging.next(2, now), ids(&[1, 2]));
        for id in 1..=2 {
            messaging.note(ContextId(id), true);
        }
        assert_eq!(messaging.next(2, now + TIME_SLICE), ids(&[3, 4]));
        messaging.note(ContextId(3), true);
        messaging.note(ContextId(1), false);
        messaging.retain(|id| id != ContextId(4));
        assert_eq!((messaging.next(9, now + TIME_SLICE), messaging.waiting()), (ids(&[5, 2, 3]), 0));
    }
}
