use std::borrow::Cow;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::time::{Duration, Instant};

use super::record::{Outcome, Record, Who};
use hero_model::{ContextId, IdentityId, Timestamp};

/// So long the same refusals are counted before that is a record.
pub(super) const INTERVAL: Duration = Duration::from_secs(60);
/// How many kinds are told apart at a time.
const MOST: usize = 2048;
/// How many of them are of one source. What it does beyond that is counted together, so that it keeps nobody else from being told.
const MOST_OF_ONE: usize = 32;
/// What counts together in a record.
const SEVERAL: &str = "several";

/// What two calls have in common that are counted together: refusals, and what else can be done as often as a caller likes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Kind {
    /// All that tells them apart.
    One { who: Who, from: Option<IpAddr>, what: Cow<'static, str>, context: Option<ContextId>, outcome: Outcome },
    /// Whose they are: it has more kinds than are told apart.
    Of(Source),
    /// Nothing: there are more kinds than are told apart.
    Others,
}

/// Whose refusals they are: those of an identity, wherever it is and whatever its tokens, or of those who are nobody in one network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    Identity(IdentityId),
    Network(IpAddr),
    /// The operator's.
    Here,
}

impl Source {
    fn of(record: &Record) -> Self {
        match (&record.who, record.peer.map(|peer| peer.ip().to_canonical())) {
            (Who::Identity(identity, _), _) => Self::Identity(*identity),
            // Who has one of these addresses has all of its network.
            (_, Some(IpAddr::V6(address))) => Self::Network(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()),
            (_, Some(address)) => Self::Network(address),
            (_, None) => Self::Here,
        }
    }
}

/// Refusals that were recorded, and how many of the same kind came after that.
///
/// Whoever is refused did not need to be anybody for that, and may try as often as the limits of the wire allow. So the first is a record, and those of the
/// next minute are one together.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    kinds: HashMap<Kind, Counted>,
    /// How many kinds each source has that are told apart.
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
    /// Takes a refusal. Gives it back if it is to be recorded at once.
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

    /// The kind of a refusal, and what of it is recorded.
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
        } else if self.of_one.get(&source).is_some_and(|many| *many >= MOST_OF_ONE) {
            (Kind::Of(source), several(record))
        } else if self.kinds.len() >= MOST {
            (Kind::Others, Record { who: Who::Others, peer: None, ..several(record) })
        } else {
            (kind, record)
        }
    }

    /// The records of those whose time is over, or of all.
    pub(super) fn due(&mut self, now: Instant, all: bool) -> Vec<Record> {
        let mut due = Vec::new();
        let Self { kinds, of_one } = self;
        kinds.retain(|kind, counted| {
            let over = all || now.duration_since(counted.began) >= INTERVAL;
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
        let due = repeats.due(now + INTERVAL, false);
        assert_eq!(due.iter().map(|record| (&*record.what, record.count.unwrap().0)).collect::<Vec<_>>(), [("login", 998)]);
        assert!(repeats.is_empty() && repeats.take(refused(1, "login"), now).is_some());
    }

    /// A refusal of an identity, by one of its tokens, in a context.
    fn of_identity(identity: u32, token: u32, context: u32) -> Record {
        let who = Who::Identity(IdentityId(identity), format!("{token:016x}").parse().unwrap());
        Record { who, context: Some(ContextId(context)), ..refused(1, "get_job") }
    }

    #[test]
    fn what_one_source_does_in_many_ways_is_counted_together_and_hides_nobody_else() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        let recorded = (0..100_000).filter(|number| repeats.take(of_identity(7, number % 50, *number), now).is_some());
        assert_eq!(recorded.count(), MOST_OF_ONE + 1);
        assert!(repeats.take(of_identity(8, 1, 0), now).is_some());
        let addresses = |number: u128| Record { peer: Some((Ipv6Addr::from_bits(number), 1).into()), ..refused(1, "login") };
        assert_eq!((0..1000).filter(|number| repeats.take(addresses(*number), now).is_some()).count(), MOST_OF_ONE + 1);
        assert!(repeats.take(addresses(1 << 64), now).is_some());
        let due = repeats.due(now, true);
        let told: Vec<(String, &str, u64)> =
            due.iter().map(|record| (record.who.to_string(), &*record.what, record.count.unwrap().0)).collect();
        let expected = [("identity:7", 100_000 - MOST_OF_ONE as u64 - 1), ("anonymous", 1000 - MOST_OF_ONE as u64 - 1)];
        assert_eq!(told, expected.map(|(who, count)| (who.to_owned(), SEVERAL, count)));
        assert!(repeats.of_one.is_empty() && repeats.take(of_identity(7, 1, 1), now).is_some());
    }

    #[test]
    fn more_kinds_than_are_told_apart_are_counted_together() {
        let (mut repeats, now) = (Repeats::default(), Instant::now());
        assert_eq!((0..100_000).filter(|identity| repeats.take(of_identity(*identity, 1, 0), now).is_some()).count(), MOST + 1);
        let due = repeats.due(now, true);
        assert_eq!((due.len(), due[0].who.clone(), due[0].count.unwrap().0), (1, Who::Others, 100_000 - MOST as u64 - 1));
    }
}
