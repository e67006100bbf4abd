use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::model::{ContextId, Timestamp};
use crate::store::Pending;

/// The state of the sleeping contexts in which nothing was due, as of the last look.
///
/// What is added to a sleeping context is nearly always one more key, so a context is looked at again when the number of
/// its keys has changed, or what was seen comes due. The number may stay the same: another key goes at the same time, or
/// something that is there comes due sooner. So each is also looked at now and then.
#[derive(Default)]
pub(super) struct Looks {
    of_contexts: BTreeMap<ContextId, Look>,
    /// The time until which contexts were looked at last, by the clock of Redis.
    until: Option<Timestamp>,
}

struct Look {
    at: Instant,
    keys: u64,
    /// The time at which something is due, or messages need a server.
    due: Option<Timestamp>,
}

/// Maximum time between two looks at a context.
const MAX_INTERVAL: Duration = Duration::from_secs(20);

impl Looks {
    /// Forgets all contexts but these.
    pub(super) fn retain(&mut self, contexts: &[ContextId]) {
        let contexts: BTreeSet<ContextId> = contexts.iter().copied().collect();
        self.of_contexts.retain(|id, _| contexts.contains(id));
    }

    /// Whether a context with this many keys is to be looked at for what is due until this time.
    pub(super) fn is_due(&mut self, context: ContextId, keys: u64, until: Timestamp) -> bool {
        // Where the clock of Redis was set back, everything that is due is looked at.
        if self.until.replace(until).is_some_and(|before| until < before) {
            self.of_contexts.clear();
        }
        let known = |look: &Look| look.keys == keys && look.at.elapsed() < MAX_INTERVAL && look.due.is_none_or(|due| due > until);
        let is_due = !self.of_contexts.get(&context).is_some_and(known);
        if is_due {
            // A look that fails is repeated.
            self.of_contexts.remove(&context);
        }
        is_due
    }

    /// Records what was seen in a context in which nothing is due now.
    pub(super) fn note(&mut self, context: ContextId, seen: Pending) {
        let due = seen.due.into_iter().chain(seen.messages).min();
        self.of_contexts.insert(context, Look { at: Instant::now(), keys: seen.keys, due });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_looked_at_when_it_is_new_its_keys_change_or_something_comes_due() {
        let (id, now) = (ContextId(7), Timestamp::from_millis(1_000_000));
        let after = |seconds| now.plus(Duration::from_secs(seconds));
        let mut looks = Looks::default();
        assert!(looks.is_due(id, 3, now));
        looks.note(id, Pending { due: Some(after(60)), work: false, keys: 3, messages: Some(after(30)) });
        assert!(!looks.is_due(id, 3, after(29)));
        assert!(looks.is_due(id, 3, after(30)), "messages need a server");
        looks.note(id, Pending { due: None, work: false, keys: 3, messages: None });
        assert!(!looks.is_due(id, 3, after(1000)));
        assert!(looks.is_due(id, 2, after(1000)), "a key has gone");
        assert!(looks.is_due(id, 3, after(1000)), "the last look was not recorded");
        looks.note(id, Pending { due: None, work: false, keys: 3, messages: None });
        looks.retain(&[ContextId(8)]);
        assert!(looks.is_due(id, 3, after(1000)), "it was open meanwhile");
    }

    #[test]
    fn a_context_whose_number_of_keys_stays_the_same_is_looked_at_now_and_then() {
        let Some(at) = Instant::now().checked_sub(MAX_INTERVAL) else { return };
        let of_contexts = BTreeMap::from([(ContextId(7), Look { at, keys: 3, due: None })]);
        assert!(Looks { of_contexts, until: None }.is_due(ContextId(7), 3, Timestamp::from_millis(0)));
    }

    #[test]
    fn each_context_is_looked_at_when_the_clock_of_redis_was_set_back() {
        let (id, mut looks) = (ContextId(7), Looks::default());
        assert!(looks.is_due(id, 3, Timestamp::from_millis(9000)));
        looks.note(id, Pending { due: None, work: false, keys: 3, messages: None });
        assert!(!looks.is_due(id, 3, Timestamp::from_millis(9000)));
        assert!(looks.is_due(id, 3, Timestamp::from_millis(8999)));
    }
}
