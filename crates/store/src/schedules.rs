use redis::{Pipeline, RedisResult};

use super::Error;
use super::value::{Fields, Text};
use crate::views::Schedules;
use hero_model::{JobId, Overlap, ScheduleId, ScheduleSpec, Timestamp};

/// A schedule as it is stored in Redis.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSchedule {
    /// Its id.
    pub id: ScheduleId,
    /// The next occurrence; after the schedule's end, the time when it is to be deleted.
    pub occurrence: Timestamp,
    /// The specification. None: another version wrote it, or only the id is left.
    pub spec: Option<ScheduleSpec>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Whether it has no next occurrence.
    pub ended: bool,
    /// Whether only the id is left.
    pub lost: bool,
    /// The time when a server last tried to fire the occurrence and found no room.
    pub tried_at: Option<Timestamp>,
    /// The occurrence of its last job.
    pub last_slot: Option<Timestamp>,
    /// Its last job.
    pub last_job: Option<JobId>,
    /// The number of jobs that it created.
    pub runs: u64,
    /// The number of occurrences that were skipped because of the job before.
    pub skipped: u64,
    /// The number of occurrences that were missed because no server ran.
    pub missed: u64,
}

/// An occurrence of a schedule to fire. The first server to do it fires it, once.
#[derive(Debug, Clone, PartialEq)]
pub struct Firing {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The expected next occurrence. If the schedule waits for another one by then, nothing happens.
    pub expected: Timestamp,
    /// The occurrence to fire: the expected one, or a later one.
    pub occurrence: Timestamp,
    /// The next occurrence afterwards; none at the end of the schedule.
    pub next: Option<Timestamp>,
    /// The number of occurrences that were missed because no server ran.
    pub missed: u64,
    /// The behaviour if the job of the occurrence before has not ended.
    pub overlap: Overlap,
}

impl Firing {
    /// Returns the occurrence in the format of `schedules.lua`, for the job of this number, counted from 1.
    pub(super) fn argument(&self, number: usize) -> String {
        let next = self.next.map_or_else(|| "-".to_owned(), |next| next.as_millis().to_string());
        let (expected, occurrence) = (self.expected.as_millis(), self.occurrence.as_millis());
        format!("{number} {} {expected} {occurrence} {next} {} {};", self.schedule, self.missed, self.overlap.as_str())
    }
}

/// The number of ids read at a time.
const IDS_PER_READ: usize = 1000;
/// The most repetitions of a read that found invalid ids. Other programs may add more meanwhile.
const MOST_LOOKS: usize = 8;

impl Schedules<'_> {
    /// Returns the schedules with a due occurrence, in their order: at most `limit`, after skipping `skip`. Also returns the time of the
    /// next occurrence, if it is known.
    pub async fn due(self, skip: usize, limit: usize) -> Result<(Vec<StoredSchedule>, Option<Timestamp>), Error> {
        let entries = self.occurrences(skip, limit).await?;
        let now = self.0.clock.now();
        let due = entries.iter().take_while(|(_, occurrence)| *occurrence <= now).count();
        let next = entries.get(due).map(|(_, occurrence)| *occurrence);
        Ok((self.stored(&entries[..due]).await?, next))
    }

    /// Returns a page of schedules, ordered by their next occurrences, and the start of the next page. None: the text is no cursor.
    ///
    /// Schedules move while their occurrences are fired, so one may be on two pages, but none is left out.
    pub async fn list(self, cursor: Option<&str>, limit: usize) -> Result<Option<(Vec<StoredSchedule>, Option<String>)>, Error> {
        let after = match cursor.map(parse_cursor) {
            None => None,
            Some(None) => return Ok(None),
            Some(after) => after,
        };
        let (mut found, mut skip) = (Vec::new(), 0);
        loop {
            let entries = self.occurrences(skip, IDS_PER_READ).await?;
            skip += entries.len();
            let last = entries.len() < IDS_PER_READ;
            let is_after =
                |(id, occurrence): &(ScheduleId, Timestamp)| after.as_ref().is_none_or(|(ms, last)| (occurrence, id) > (ms, last));
            found.extend(entries.into_iter().filter(is_after));
            if last || found.len() > limit {
                break;
            }
        }
        let more = found.len() > limit;
        found.truncate(limit);
        let cursor = found.last().filter(|_| more).map(|(id, occurrence)| format!("{}-{id}", occurrence.as_millis()));
        Ok(Some((self.stored(&found).await?, cursor)))
    }

    /// Returns the specification of a schedule, if the schedule exists; the inner value is nothing if another version wrote it.
    pub async fn spec(self, id: &ScheduleId) -> Result<Option<Option<ScheduleSpec>>, Error> {
        let spec: Text = self.0.commands.call(redis::cmd("HGET").arg(self.0.keys.schedule(id)).arg("spec")).await?;
        Ok(spec.0.map(|spec| serde_json::from_str(&spec).ok()))
    }

    /// Returns the current state of a schedule that waits for this occurrence.
    pub async fn get(self, id: ScheduleId, occurrence: Timestamp) -> Result<Option<StoredSchedule>, Error> {
        Ok(self.stored(&[(id, occurrence)]).await?.pop().filter(|schedule| !schedule.lost))
    }

    async fn occurrences(self, skip: usize, limit: usize) -> Result<Vec<(ScheduleId, Timestamp)>, Error> {
        let mut range = redis::cmd("ZRANGE");
        range.arg(self.0.keys.schedules()).arg(skip).arg(skip + limit.max(1) - 1).arg("WITHSCORES");
        let id = |member: &[u8]| std::str::from_utf8(member).ok()?.parse::<ScheduleId>().ok();
        let mut looks = 0;
        loop {
            let entries: Vec<(Vec<u8>, f64)> = self.0.unspoilt(self.0.commands.call(&range).await)?;
            let strange: Vec<&[u8]> = entries.iter().map(|(member, _)| member.as_slice()).filter(|member| id(member).is_none()).collect();
            looks += 1;
            if strange.is_empty() || looks > MOST_LOOKS {
                let known = |(member, occurrence): &(Vec<u8>, f64)| Some((id(member)?, Timestamp::from_millis(*occurrence as i64)));
                return Ok(entries.iter().filter_map(known).collect());
            }
            // Entries of other programs that are no ids are removed, because each takes the place of an id.
            self.0.commands.call::<u64>(redis::cmd("ZREM").arg(self.0.keys.schedules()).arg(strange)).await?;
        }
    }

    async fn stored(self, entries: &[(ScheduleId, Timestamp)]) -> Result<Vec<StoredSchedule>, Error> {
        if entries.is_empty() {
            return Ok(Vec::new());
        }
        let mut pipeline = Pipeline::with_capacity(entries.len());
        pipeline.ignore_errors();
        for (id, _) in entries {
            pipeline.cmd("HGETALL").arg(self.0.keys.schedule(id));
        }
        let hashes = self.0.commands.each::<Fields>(&pipeline).await?;
        let of = |((id, occurrence), fields): (&(ScheduleId, Timestamp), RedisResult<Fields>)| {
            let fields = self.0.unspoilt_key(&self.0.keys.schedule(id), fields.map(Some))?;
            let is_spoilt = fields.is_none();
            let schedule = stored(id, *occurrence, &fields.unwrap_or_default());
            // A key that another program has spoilt does not count as lost yet: the cleanup decides what happens to it.
            Ok(StoredSchedule { lost: schedule.lost && !is_spoilt, ..schedule })
        };
        entries.iter().zip(hashes).map(of).collect()
    }
}

fn stored(id: &ScheduleId, occurrence: Timestamp, fields: &Fields) -> StoredSchedule {
    let text = |name: &str| fields.get(name).and_then(|text| text.0.as_deref());
    let number = |name| text(name).and_then(|text| text.parse().ok()).unwrap_or(0);
    let time = |name| text(name).and_then(|text| text.parse().ok());
    StoredSchedule {
        id: id.clone(),
        occurrence,
        spec: text("spec").and_then(|spec| serde_json::from_str(spec).ok()),
        created_at: time("created_at").unwrap_or(occurrence),
        ended: fields.contains_key("ended_at"),
        lost: fields.is_empty(),
        tried_at: time("tried_at"),
        last_slot: text("last_slot").and_then(|ms| ms.parse().ok()).map(Timestamp::from_millis),
        last_job: text("last_job").and_then(|id| id.parse().ok()),
        runs: number("runs"),
        skipped: number("skipped"),
        missed: number("missed"),
    }
}

fn parse_cursor(text: &str) -> Option<(Timestamp, ScheduleId)> {
    let (ms, id) = text.split_once('-')?;
    Some((Timestamp::from_millis(ms.parse().ok()?), id.parse().ok()?))
}
