//! The occurrences of schedules. This module reads neither a clock nor the store.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;

use super::Error;
use super::cron::cron;
use hero_model::{Missed, ScheduleSpec, Timestamp, nearest};

/// The occurrences of a schedule.
#[derive(Debug, Clone)]
pub(super) struct Timetable {
    rule: Rule,
    /// No occurrence is before this.
    start: Timestamp,
    /// No occurrence is after this.
    end: Option<Timestamp>,
    missed: Missed,
    /// Maximum number of missed occurrences that are made up for at a time.
    limit: usize,
}

#[derive(Debug, Clone)]
enum Rule {
    Cron(Box<Cron>, Tz),
    /// The first occurrence and the milliseconds between two. Occurrences are computed from the first, so that they do
    /// not drift.
    Every(i64, i64),
}

/// The plan of a schedule for due occurrences.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// The number of skipped occurrences, up to a limit.
    pub(super) missed: u64,
    /// The occurrences to fire, in order.
    pub(super) occurrences: Vec<Timestamp>,
    /// The first occurrence after all these.
    pub(super) next: Option<Timestamp>,
}

/// An occurrence that no server has fired for this long is missed.
const MISSED_AFTER: Duration = Duration::from_secs(30);
/// Time that other servers get to fire an occurrence that came while this server was away, before it counts as missed
/// under [`Missed::Skip`].
const LEFT_TO_OTHERS: Duration = Duration::from_secs(5);
/// Maximum number of occurrences in a plan, unless they were missed.
const MAX_PLANNED: usize = 128;
/// Maximum number of skipped occurrences that are counted at a time.
const MAX_COUNTED_SKIPS: usize = 1000;
/// Minimum time between two occurrences.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of missed occurrences that can be made up for at a time.
const MOST_MISSED: u16 = 1000;

impl Timetable {
    /// Creates the timetable of a schedule with this creation time.
    pub(super) fn new(spec: &ScheduleSpec, created_at: Timestamp) -> Result<Self, Error> {
        let start = spec.start_at.unwrap_or(created_at);
        // Periods are the same in every time zone. For them the zone only affects how times are shown.
        let zone = spec.time_zone.as_deref().map_or(Ok(Tz::UTC), zone)?;
        let rule = match (&spec.cron, spec.every) {
            (Some(pattern), None) => Rule::Cron(Box::new(cron(pattern)?), zone),
            (None, Some(every)) => {
                if every.duration() < MIN_INTERVAL {
                    return Err(Error::invalid("every", format!("is {every} s; a schedule runs once a second at most")));
                }
                let period = i64::try_from(every.duration().as_millis()).unwrap_or(i64::MAX);
                // Without `start_at` the first run comes one period after the creation.
                Rule::Every(spec.start_at.map_or(created_at.as_millis().saturating_add(period), Timestamp::as_millis), period)
            }
            (Some(_), Some(_)) => return Err(Error::invalid("every", "and cron are both given; a schedule has one of them")),
            (None, None) => {
                let message = "is missing, and so is every; a schedule has one of them, such as \"0 9 * * MON-FRI\" or 300";
                return Err(Error::invalid("cron", message));
            }
        };
        let limit = spec.missed_limit.unwrap_or(ScheduleSpec::MISSED_LIMIT);
        if !(1..=MOST_MISSED).contains(&limit) {
            return Err(Error::invalid("missed_limit", format!("is {limit}; it is from 1 to {MOST_MISSED}")));
        }
        Ok(Self { rule, start, end: spec.end_at, missed: spec.missed, limit: limit.into() })
    }

    /// Returns the first occurrence after a time.
    pub(super) fn after(&self, time: Timestamp) -> Option<Timestamp> {
        let time = if time < self.start { self.start.minus(Duration::from_millis(1)) } else { time };
        let occurrence = match &self.rule {
            Rule::Cron(cron, zone) => from(cron.find_next_occurrence(&to(time, *zone)?, false).ok()?),
            Rule::Every(first, period) => {
                let passed = (time.as_millis() - first).div_euclid(*period) + 1;
                let millis = first.saturating_add(period.saturating_mul(passed.max(0)));
                // There are no times after the year 9999.
                Some(Timestamp::from_millis(millis)).filter(|occurrence| occurrence.as_millis() == millis)?
            }
        };
        (occurrence > time && self.end.is_none_or(|end| occurrence <= end)).then_some(occurrence)
    }

    /// Returns the occurrences after a time, in order.
    pub(super) fn occurrences_after(&self, time: Timestamp) -> impl Iterator<Item = Timestamp> {
        std::iter::successors(self.after(time), |occurrence| self.after(*occurrence))
    }

    /// Returns the last occurrence at or before a time.
    fn at_or_before(&self, time: Timestamp) -> Option<Timestamp> {
        let time = self.end.map_or(time, |end| time.min(end));
        let occurrence = match &self.rule {
            Rule::Cron(cron, zone) => from(cron.find_previous_occurrence(&to(time, *zone)?, true).ok()?),
            Rule::Every(first, period) => {
                let passed = (time.as_millis() - first).div_euclid(*period);
                Timestamp::from_millis(if passed < 0 { return None } else { first + period * passed })
            }
        };
        (occurrence <= time && occurrence >= self.start).then_some(occurrence)
    }

    /// Plans the occurrences from the expected one up to now. Returns `None` if another server may be about to fire
    /// them.
    ///
    /// `tried_at` is the time at which a server tried, but had no room. `here_since` is the start of the time in which
    /// this server checked without a break. Earlier occurrences are missed under [`Missed::Skip`], however short the
    /// break was, while the other policies make up for them anyway.
    pub(super) fn plan(&self, expected: Timestamp, tried_at: Option<Timestamp>, here_since: Timestamp, now: Timestamp) -> Option<Plan> {
        let before = expected.minus(Duration::from_millis(1));
        let noticed = tried_at.map_or(expected, |tried_at| tried_at.max(expected));
        if now.since(noticed) <= MISSED_AFTER {
            if self.missed == Missed::Skip && noticed < here_since {
                if now.since(noticed) < LEFT_TO_OTHERS {
                    return None;
                }
                let mut occurrences: Vec<Timestamp> =
                    self.occurrences_after(before).take_while(|occurrence| *occurrence <= now).take(MAX_PLANNED).collect();
                let next = self.after(occurrences.last().copied().unwrap_or(now));
                let missed = occurrences.partition_point(|occurrence| *occurrence < here_since);
                occurrences.drain(..missed);
                return Some(Plan { missed: missed as u64, occurrences, next });
            }
            let occurrences: Vec<Timestamp> =
                self.occurrences_after(before).take_while(|occurrence| *occurrence <= now).take(MAX_PLANNED).collect();
            let next = self.after(occurrences.last().copied().unwrap_or(now));
            return Some(Plan { missed: 0, occurrences, next });
        }
        let keep = if self.missed == Missed::All { self.limit } else { 1 };
        let newest =
            std::iter::successors(self.at_or_before(now), |occurrence| self.at_or_before(occurrence.minus(Duration::from_millis(1))));
        let mut occurrences: Vec<Timestamp> = newest.take_while(|occurrence| *occurrence >= expected).take(keep).collect();
        occurrences.reverse();
        let first = occurrences.first().copied().unwrap_or(now);
        let mut missed = self.occurrences_after(before).take_while(|occurrence| *occurrence < first).take(MAX_COUNTED_SKIPS).count() as u64;
        if self.missed == Missed::Skip && occurrences.last().is_some_and(|occurrence| now.since(*occurrence) > MISSED_AFTER) {
            missed += occurrences.drain(..).count() as u64;
        }
        Some(Plan { missed, next: self.after(now), occurrences })
    }
}

impl Timetable {
    /// Plans the occurrences from the expected one up to now if none of them may be fired.
    pub(super) fn plan_for_none(&self, expected: Timestamp, now: Timestamp) -> Plan {
        let come = self.occurrences_after(expected.minus(Duration::from_millis(1))).take_while(|occurrence| *occurrence <= now);
        Plan { missed: come.take(MAX_COUNTED_SKIPS).count() as u64, occurrences: Vec::new(), next: self.after(now) }
    }
}

fn zone(name: &str) -> Result<Tz, Error> {
    name.parse().map_err(|_| {
        let zones: BTreeMap<String, &str> = chrono_tz::TZ_VARIANTS.iter().map(|zone| (zone.name().to_lowercase(), zone.name())).collect();
        let near = nearest(&name.to_lowercase(), zones.keys()).map(|zone| format!("; did you mean {}?", zones[zone]));
        let name: String = name.chars().take(64).collect();
        Error::invalid("time_zone", format!("{name:?} is no time zone, such as Europe/Berlin{}", near.unwrap_or_default()))
    })
}

fn to(time: Timestamp, zone: Tz) -> Option<DateTime<Tz>> {
    // Whole seconds, because occurrences have no fraction.
    Some(DateTime::from_timestamp(time.as_millis().div_euclid(1000), 0)?.with_timezone(&zone))
}

fn from(time: DateTime<Tz>) -> Timestamp {
    Timestamp::from_millis(time.with_timezone(&Utc).timestamp_millis())
}

#[cfg(test)]
mod tests;
