use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::clock::step::set_back;
use crate::views::Maintenance;
use crate::{Error, Inner};
use hero_model::{JobFilter, Timestamp};

/// The largest disorder of jobs in an index that is not recorded, in ms: servers of another version used their own clocks, and smaller
/// offsets of foreign jobs are not recorded.
const TOLERATED_DISORDER_MILLIS: i64 = 2000;
/// An hour in milliseconds.
const HOUR_MILLIS: i64 = 3_600_000;

/// The times when jobs within the bounds of a filter entered the index, in milliseconds.
///
/// Mostly these are the times of creation. But a foreign job was created before it entered the index, by another clock, and after a backward step
/// of Redis' clock jobs are not in the order of their times.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Times {
    since: Option<i64>,
    until: Option<i64>,
    /// The offsets of the times in an hour, ahead and behind: those of foreign jobs, and those of all jobs after a backward step of Redis' clock.
    offsets: HashMap<String, (i64, i64)>,
}

impl Times {
    /// Returns the times for a filter. Redis is asked only if the filter has bounds.
    pub(super) async fn of(store: &Arc<Inner>, filter: &JobFilter) -> Result<Self, Error> {
        let (since, until) = (filter.created_after.map(Timestamp::as_millis), filter.created_before.map(Timestamp::as_millis));
        if since.is_none() && until.is_none() {
            return Ok(Self::default());
        }
        // This detects a very recent step.
        Maintenance(store).set_clock().await?;
        let keys = &store.keys;
        let noted = match store.noted_time_offsets().await {
            // A foreign program has changed the type of the key, which the reaper removes.
            Err(error) if !error.may_pass() => HashMap::new(),
            noted => noted?,
        };
        let mut offsets: HashMap<String, (i64, i64)> = HashMap::new();
        for (key, text) in noted {
            let (index, off) = match set_back(&key) {
                Some(index) => (index, text.parse().map(|back| (back, back))),
                None => (&*key, text.0.as_deref().and_then(off)),
            };
            if let (Some(hour), Some((ahead, behind))) = (keys.parse_index(index), off) {
                let sum = offsets.entry(hour.to_owned()).or_default();
                *sum = (sum.0.saturating_add(ahead), sum.1.saturating_add(behind));
            }
        }
        Ok(Self { since, until, offsets })
    }

    fn wide(&self, (ahead, behind): (i64, i64)) -> RangeInclusive<i64> {
        let start = self.since.map_or(i64::MIN, |since| since.saturating_sub(ahead).saturating_sub(TOLERATED_DISORDER_MILLIS));
        start..=self.until.map_or(i64::MAX, |until| until.saturating_add(behind).saturating_add(TOLERATED_DISORDER_MILLIS))
    }

    /// Returns the times in the index of an hour.
    pub(super) fn within(&self, hour: &str) -> RangeInclusive<i64> {
        self.wide(self.offsets.get(hour).copied().unwrap_or_default())
    }

    /// Returns the times in any hour.
    pub(super) fn everywhere(&self) -> RangeInclusive<i64> {
        self.wide(self.offsets.values().fold((0, 0), |most, offset| (most.0.max(offset.0), most.1.max(offset.1))))
    }

    /// Whether any of the times are in an hour.
    pub(super) fn reach(&self, hour: &str) -> bool {
        let times = self.within(hour);
        start_of(hour).is_none_or(|start| start <= *times.end() && start + HOUR_MILLIS >= *times.start())
    }

    /// Whether the last of the times is in an hour.
    pub(super) fn end_in(&self, hour: &str) -> bool {
        start_of(hour).is_some_and(|start| start + HOUR_MILLIS > *self.within(hour).end())
    }
}

/// Parses offsets ahead and behind, in the format of the functions.
fn off(text: &str) -> Option<(i64, i64)> {
    let (ahead, behind) = text.split_once(' ')?;
    Some((ahead.parse().ok()?, behind.parse().ok()?))
}

/// Returns the beginning of an hour `yyyymmddhh`.
fn start_of(hour: &str) -> Option<i64> {
    let part = |from, to| hour.get(from..to);
    let time = format!("{}-{}-{}T{}:00:00Z", part(0, 4)?, part(4, 6)?, part(6, 8)?, part(8, 10)?);
    time.parse::<Timestamp>().ok().map(Timestamp::as_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_is_left_out_only_if_no_job_in_it_can_be_of_the_time() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap().as_millis());
        let mut times = Times { since: at("2026-11-21T10:20:00Z"), until: at("2026-11-21T12:00:00Z"), offsets: HashMap::new() };
        let reached = |times: &Times| -> Vec<u32> { (8..16).filter(|hour| times.reach(&format!("20261121{hour:02}"))).collect() };
        assert_eq!(reached(&times), [10, 11, 12]);
        assert!(times.end_in("2026112112") && !times.end_in("2026112111"));
        // The first job was seen two hours after its creation; the second one had a clock two hours fast.
        times.offsets.insert("2026112114".into(), (0, 2 * HOUR_MILLIS));
        times.offsets.insert("2026112109".into(), (2 * HOUR_MILLIS, 0));
        assert_eq!(reached(&times), [9, 10, 11, 12, 14]);
        assert_eq!(
            times.everywhere(),
            times.since.unwrap() - 2 * HOUR_MILLIS - TOLERATED_DISORDER_MILLIS
                ..=times.until.unwrap() + 2 * HOUR_MILLIS + TOLERATED_DISORDER_MILLIS
        );
        // An absurd offset covers all times.
        times.offsets.insert("2026112108".into(), (100_000_000_000_000, 0));
        assert!(times.reach("2026112108"));
        assert!(Times::default().reach("2026112108") && Times::default().reach("no hour"));
    }
}
