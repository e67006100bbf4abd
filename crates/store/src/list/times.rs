use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::setback::set_back;
use crate::views::Maintenance;
use crate::{Error, Inner};
use hero_model::{JobFilter, Timestamp};

/// How far jobs in an index may be out of order without a note of it, ms: servers of another version wrote times of their own clocks, and foreign jobs
/// that are off by less are not noted.
const NEAR: i64 = 2000;
/// An hour in milliseconds.
const HOUR: i64 = 3_600_000;

/// When jobs within the bounds of a filter came into the index, in milliseconds.
///
/// Mostly that is when they were created. But a foreign job was created before it came into the index, by another clock; and where Redis' clock was
/// set back, jobs are not in the order of their times.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Times {
    since: Option<i64>,
    until: Option<i64>,
    /// How far the times of foreign jobs in an hour are ahead and behind, and of all jobs where Redis' clock was set back.
    offsets: HashMap<String, (i64, i64)>,
}

impl Times {
    /// Those of a filter. Redis is asked only if it has bounds.
    pub(super) async fn of(store: &Arc<Inner>, filter: &JobFilter) -> Result<Self, Error> {
        let (since, until) = (filter.created_after.map(Timestamp::as_millis), filter.created_before.map(Timestamp::as_millis));
        if since.is_none() && until.is_none() {
            return Ok(Self::default());
        }
        // Whether it was set back a moment ago.
        Maintenance(store).set_clock().await?;
        let keys = &store.keys;
        let noted = match store.noted_time_offsets().await {
            // A foreign program made something else of it, which the reaper takes away.
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
        let start = self.since.map_or(i64::MIN, |since| since.saturating_sub(ahead).saturating_sub(NEAR));
        start..=self.until.map_or(i64::MAX, |until| until.saturating_add(behind).saturating_add(NEAR))
    }

    /// The times in the index of an hour.
    pub(super) fn within(&self, hour: &str) -> RangeInclusive<i64> {
        self.wide(self.offsets.get(hour).copied().unwrap_or_default())
    }

    /// The times in any hour.
    pub(super) fn everywhere(&self) -> RangeInclusive<i64> {
        self.wide(self.offsets.values().fold((0, 0), |most, offset| (most.0.max(offset.0), most.1.max(offset.1))))
    }

    /// Whether any of the times are in an hour.
    pub(super) fn reach(&self, hour: &str) -> bool {
        let times = self.within(hour);
        start_of(hour).is_none_or(|start| start <= *times.end() && start + HOUR >= *times.start())
    }

    /// Whether the last of the times is in an hour.
    pub(super) fn end_in(&self, hour: &str) -> bool {
        start_of(hour).is_some_and(|start| start + HOUR > *self.within(hour).end())
    }
}

/// How far jobs are ahead and behind, as functions note it.
fn off(text: &str) -> Option<(i64, i64)> {
    let (ahead, behind) = text.split_once(' ')?;
    Some((ahead.parse().ok()?, behind.parse().ok()?))
}

/// When an hour `yyyymmddhh` begins.
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
        // Seen two hours after it was created; by a clock that is two hours fast.
        times.offsets.insert("2026112114".into(), (0, 2 * HOUR));
        times.offsets.insert("2026112109".into(), (2 * HOUR, 0));
        assert_eq!(reached(&times), [9, 10, 11, 12, 14]);
        assert_eq!(times.everywhere(), times.since.unwrap() - 2 * HOUR - NEAR..=times.until.unwrap() + 2 * HOUR + NEAR);
        // A time of nonsense reaches from everywhere to everywhere.
        times.offsets.insert("2026112108".into(), (100_000_000_000_000, 0));
        assert!(times.reach("2026112108"));
        assert!(Times::default().reach("2026112108") && Times::default().reach("no hour"));
    }
}
