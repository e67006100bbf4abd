use std::borrow::Cow;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::record::{Outcome, Record, Who};
use crate::model::{ContextId, Timestamp};

/// So long the same refusals are counted before that is a record.
pub(super) const INTERVAL: Duration = Duration::from_secs(60);
/// How many refusals are told apart at a time.
const MOST: usize = 1024;

/// What two refusals have in common that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Kind {
    who: Who,
    from: Option<IpAddr>,
    what: Cow<'static, str>,
    context: Option<ContextId>,
    outcome: Outcome,
}

/// Refusals that were recorded, and how many of the same kind came after that.
///
/// Whoever is refused did not need to be anybody for that, and may try as often as the limits of the wire allow. So the first is a record, and those of the
/// next minute are one together.
#[derive(Debug, Default)]
pub(super) struct Repeats(HashMap<Kind, Counted>);

#[derive(Debug)]
struct Counted {
    began: Instant,
    since: Timestamp,
    count: u64,
    last: Record,
}

impl Repeats {
    /// Takes a refusal. Gives it back if it is to be recorded at once.
    pub(super) fn take(&mut self, record: Record, now: Instant) -> Option<Record> {
        let kind = Kind {
            who: record.who.clone(),
            from: record.peer.map(|peer| peer.ip()),
            what: record.what.clone(),
            context: record.context,
            outcome: record.outcome,
        };
        if self.0.len() >= MOST && !self.0.contains_key(&kind) {
            let others = Record { who: Who::Others, peer: None, what: "several".into(), context: None, object: None, ..record };
            let kind = Kind { who: Who::Others, from: None, what: "several".into(), context: None, outcome: others.outcome };
            return self.count(kind, others, now);
        }
        self.count(kind, record, now)
    }

    fn count(&mut self, kind: Kind, record: Record, now: Instant) -> Option<Record> {
        if let Some(counted) = self.0.get_mut(&kind) {
            counted.count += 1;
            counted.last = Record { object: None, ..record };
            return None;
        }
        let last = Record { object: None, ..record.clone() };
        self.0.insert(kind, Counted { began: now, since: record.time, count: 0, last });
        Some(record)
    }

    /// The records of those whose time is over, or of all.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Record> {
        let mut due = Vec::new();
        self.0.retain(|_, counted| {
            let over = all || now.duration_since(counted.began) >= INTERVAL;
            if over && counted.count > 0 {
                due.push(Record { count: Some((counted.count, counted.since)), ..counted.last.clone() });
            }
            !over
        });
        due.sort_by_key(|record| record.time);
        due
    }

    /// Whether nothing is counted.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(port: u16, what: &'static str) -> Record {
        Record { peer: Some(([127, 0, 0, 1], port).into()), ..Record::new(Who::Anonymous, what, Outcome::Refused(1005)) }
    }

    #[test]
    fn the_first_of_a_kind_is_recorded_and_those_of_the_next_minute_are_counted() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        assert!(repeats.take(refused(1, "login"), now).is_some());
        assert!((2..1000).all(|port| repeats.take(refused(port, "login"), now).is_none()));
        assert!(repeats.take(refused(1, "get_job"), now).is_some());
        assert!(repeats.due(now, false).is_empty());
        let due = repeats.due(now + INTERVAL, false);
        assert_eq!(due.iter().map(|record| (&*record.what, record.count.unwrap().0)).collect::<Vec<_>>(), [("login", 998)]);
        assert!(repeats.is_empty() && repeats.take(refused(1, "login"), now).is_some());
    }

    #[test]
    fn more_kinds_than_are_told_apart_are_counted_together() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        let recorded = (0..100_000_u32).filter(|context| {
            let record = Record { context: Some(ContextId(*context)), ..refused(1, "get_job") };
            repeats.take(record, now).is_some()
        });
        assert_eq!(recorded.count(), MOST + 1);
        let due = repeats.due(now, true);
        assert_eq!((due.len(), due[0].who.clone(), due[0].count.unwrap().0), (1, Who::Others, 100_000 - MOST as u64 - 1));
    }
}
