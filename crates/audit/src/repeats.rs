use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use super::record::{Outcome, Record, Who};
use hero_model::{ContextId, IdentityId, Timestamp};

/// Time for which equal refusals are counted before one record reports them.
pub(super) const REPORT_INTERVAL: Duration = Duration::from_secs(60);
/// The maximum number of kinds told apart at a time.
const MAX_KINDS: usize = 2048;
/// The maximum number of kinds per source. Further ones are counted together, so that one source cannot crowd out the
/// others.
const MAX_KINDS_PER_SOURCE: usize = 32;
/// The name of records that count several kinds together.
const SEVERAL: &str = "several";

/// The fields that two calls share if they are counted together: refusals, and other operations that a caller can
/// repeat as often as it likes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kind {
    /// A kind of its own.
    One { who: Who, from: Option<IpAddr>, what: Cow<'static, str>, context: Option<ContextId>, outcome: Outcome },
    /// The other kinds of a source that has more than are told apart.
    Of(Source),
    /// The kinds beyond those that are told apart.
    Others,
}

/// The source of refusals: an identity, whatever its address and tokens, or all callers without login in one network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Identity(IdentityId),
    Network(IpAddr),
    /// The operator.
    Here,
}

impl Source {
    fn of(record: &Record) -> Self {
        match (&record.who, record.peer.map(|peer| peer.ip().to_canonical())) {
            (Who::Identity(identity, _), _) => Self::Identity(*identity),
            // A caller with one of these addresses controls its whole network.
            (_, Some(IpAddr::V6(address))) => Self::Network(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()),
            (_, Some(address)) => Self::Network(address),
            (_, None) => Self::Here,
        }
    }
}

/// Recorded refusals, and the number of further ones of the same kind.
///
/// A refused caller needs no login and may repeat its call as often as the connection limits allow. So the first
/// refusal is recorded at once, and those of the next minute together.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    kinds: HashMap<Kind, Counted>,
    /// The number of kinds told apart per source.
    of_one: HashMap<Source, usize>,
}

#[derive(Debug)]
struct Counted {
    source: Source,
    began: Instant,
    since: Timestamp,
    count: u64,
    last: Record,
}

impl Repeats {
    /// Counts a refusal. Returns it if it has to be recorded at once.
    pub(super) fn take(&mut self, record: Record, now: Instant) -> Option<Record> {
        let source = Source::of(&record);
        let (kind, record) = self.kind(record, source);
        let last = Record { object: None, ..record.clone() };
        if let Some(counted) = self.kinds.get_mut(&kind) {
            counted.count += 1;
            counted.last = last;
            return None;
        }
        if matches!(kind, Kind::One { .. }) {
            *self.of_one.entry(source).or_default() += 1;
        }
        self.kinds.insert(kind, Counted { source, began: now, since: record.time, count: 0, last });
        Some(record)
    }

    /// Returns the kind of a refusal, and the record reduced to that kind.
    fn kind(&self, record: Record, source: Source) -> (Kind, Record) {
        let kind = Kind::One {
            who: record.who.clone(),
            from: record.peer.map(|peer| peer.ip()),
            what: record.what.clone(),
            context: record.context,
            outcome: record.outcome,
        };
        let several = |record| Record { what: SEVERAL.into(), context: None, object: None, ..record };
        if self.kinds.contains_key(&kind) {
            (kind, record)
        } else if self.of_one.get(&source).is_some_and(|many| *many >= MAX_KINDS_PER_SOURCE) {
            (Kind::Of(source), several(record))
        } else if self.kinds.len() >= MAX_KINDS {
            (Kind::Others, Record { who: Who::Others, peer: None, ..several(record) })
        } else {
            (kind, record)
        }
    }

    /// Returns the records of the kinds whose interval has passed, or of all.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Record> {
        let mut due = Vec::new();
        let Self { kinds, of_one } = self;
        kinds.retain(|kind, counted| {
            let over = all || now.duration_since(counted.began) >= REPORT_INTERVAL;
            if over && counted.count > 0 {
                due.push(Record { count: Some((counted.count, counted.since)), ..counted.last.clone() });
            }
            if over
                && matches!(kind, Kind::One { .. })
                && let Some(many) = of_one.get_mut(&counted.source)
            {
                *many = many.saturating_sub(1);
            }
            !over
        });
        of_one.retain(|_, many| *many > 0);
        due.sort_by_key(|record| record.time);
        due
    }

    /// Whether nothing is counted.
    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
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
        let due = repeats.due(now + REPORT_INTERVAL, false);
        assert_eq!(due.iter().map(|record| (&*record.what, record.count.unwrap().0)).collect::<Vec<_>>(), [("login", 998)]);
        assert!(repeats.is_empty() && repeats.take(refused(1, "login"), now).is_some());
    }

    /// Returns a refusal of an identity, by one of its tokens, in a context.
    fn of_identity(identity: u32, token: u32, context: u32) -> Record {
        let who = Who::Identity(IdentityId(identity), format!("{token:016x}").parse().unwrap());
        Record { who, context: Some(ContextId(context)), ..refused(1, "get_job") }
    }

    #[test]
    fn varied_repeats_of_one_source_are_counted_together_and_hide_no_other() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        let recorded = (0..100_000).filter(|number| repeats.take(of_identity(7, number % 50, *number), now).is_some());
        assert_eq!(recorded.count(), MAX_KINDS_PER_SOURCE + 1);
        assert!(repeats.take(of_identity(8, 1, 0), now).is_some());
        let addresses = |number: u128| Record { peer: Some((Ipv6Addr::from_bits(number), 1).into()), ..refused(1, "login") };
        assert_eq!((0..1000).filter(|number| repeats.take(addresses(*number), now).is_some()).count(), MAX_KINDS_PER_SOURCE + 1);
        assert!(repeats.take(addresses(1 << 64), now).is_some());
        let due = repeats.due(now, true);
        let told: Vec<(String, &str, u64)> =
            due.iter().map(|record| (record.who.to_string(), &*record.what, record.count.unwrap().0)).collect();
        let expected = [("identity:7", 100_000 - MAX_KINDS_PER_SOURCE as u64 - 1), ("anonymous", 1000 - MAX_KINDS_PER_SOURCE as u64 - 1)];
        assert_eq!(told, expected.map(|(who, count)| (who.to_owned(), SEVERAL, count)));
        assert!(repeats.of_one.is_empty() && repeats.take(of_identity(7, 1, 1), now).is_some());
    }

    #[test]
    fn more_kinds_than_are_told_apart_are_counted_together() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        assert_eq!((0..100_000).filter(|identity| repeats.take(of_identity(*identity, 1, 0), now).is_some()).count(), MAX_KINDS + 1);
        let due = repeats.due(now, true);
        assert_eq!((due.len(), due[0].who.clone(), due[0].count.unwrap().0), (1, Who::Others, 100_000 - MAX_KINDS as u64 - 1));
    }
}
