use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::id::{InvalidId, JobId, text_id};
use super::{JobSpec, Seconds, Timestamp, or_default, shown};

/// The id of a schedule: a UUID.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScheduleId(JobId);

impl ScheduleId {
    /// Creates a random id (UUID v4).
    pub fn random() -> Self {
        Self(JobId::random())
    }

    /// The id as it is in keys.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the id in lower case, as schedules have it.
    pub fn spelled(self) -> Self {
        self.0.in_lower_case().map_or(self, Self)
    }
}

impl FromStr for ScheduleId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        text.parse().map(Self)
    }
}

text_id!(ScheduleId, { "type": "string", "format": "uuid" });

/// The error for an unknown word.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{word:?} is none of {known}")]
pub struct UnknownWord {
    pub(super) word: String,
    pub(super) known: &'static str,
}

/// How a run behaves if the previous one has not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overlap {
    /// It is skipped and counted.
    #[default]
    Skip,
    /// Its job waits for the end of the previous one and of all its descendants. At most 100 wait; further runs are
    /// skipped.
    Queue,
    /// Its job runs at the same time.
    Allow,
}

impl Overlap {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Queue => "queue",
            Self::Allow => "allow",
        }
    }
}

impl FromStr for Overlap {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let known = [Self::Skip, Self::Queue, Self::Allow].into_iter().find(|overlap| overlap.as_str() == text);
        known.ok_or_else(|| UnknownWord { word: text.to_owned(), known: "skip, queue, allow" })
    }
}

/// How runs are treated that were due while no server ran: those that no server fired within 30 seconds, or with `skip`
/// within 5.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// They are skipped and counted.
    Skip,
    /// One job makes up for all of them.
    #[default]
    Once,
    /// Each gets its job, as far as `overlap` allows. Of more than `missed_limit`, only the newest do.
    All,
}

impl Missed {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "skip",
            Self::Once => "once",
            Self::All => "all",
        }
    }
}

impl FromStr for Missed {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let known = [Self::Skip, Self::Once, Self::All].into_iter().find(|missed| missed.as_str() == text);
        known.ok_or_else(|| UnknownWord { word: text.to_owned(), known: "skip, once, all" })
    }
}

/// Which job is to run again and again, and when. `job` and one of `cron` and `every` are needed.
///
/// The order of the fields is the order of positional parameters.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleSpec {
    /// The job of each run. `job_id`, `idempotency_key`, `run_at` and relations are not allowed here: they are for
    /// single jobs.
    pub job: JobSpec,
    /// When it runs, such as `0 9 * * MON-FRI`: minute, hour, day of the month, month, weekday. A sixth field in front
    /// is for seconds.
    pub cron: Option<String>,
    /// Seconds from one run to the next, at least 1; counted from `start_at`, else from its creation.
    pub every: Option<Seconds>,
    /// The time zone of `cron` and of the times shown, such as `Europe/Berlin`. UTC by default.
    pub time_zone: Option<String>,
    /// How a run behaves if the previous one has not ended; `skip` by default.
    #[serde(default, deserialize_with = "or_default")]
    pub overlap: Overlap,
    /// How runs are treated that were due while no server ran; `once` by default.
    #[serde(default, deserialize_with = "or_default")]
    pub missed: Missed,
    /// The maximum number of jobs that `missed: all` creates at a time. 100 by default, at most 1000.
    pub missed_limit: Option<u16>,
    /// The earliest time of a run (RFC 3339).
    pub start_at: Option<Timestamp>,
    /// The latest time of a run.
    pub end_at: Option<Timestamp>,
    /// A display name.
    pub name: Option<String>,
    /// A key for this request. For 24 hours, the same key with the same parameters returns the same schedule in its
    /// state at that time.
    pub idempotency_key: Option<String>,
    /// The id of the schedule; a new one by default.
    pub schedule_id: Option<ScheduleId>,
}

/// A schedule and its progress.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Schedule {
    /// Its id. Its jobs have it in the label `schedule`, and the time at which they were due in the label `slot`.
    pub schedule_id: ScheduleId,
    /// A display name.
    pub name: Option<String>,
    /// When it runs, as a cron pattern.
    pub cron: Option<String>,
    /// Seconds from one run to the next.
    pub every: Option<Seconds>,
    /// The time zone of `cron` and of the times shown.
    pub time_zone: String,
    /// How a run behaves if the previous one has not ended.
    pub overlap: Overlap,
    /// How runs are treated that were due while no server ran.
    pub missed: Missed,
    /// The maximum number of jobs that `missed: all` creates at a time.
    pub missed_limit: u16,
    /// The earliest time of a run.
    pub start_at: Option<Timestamp>,
    /// The latest time of a run.
    pub end_at: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// The next runs, at most five. A schedule without next runs has ended, and is deleted in a while.
    pub next_runs: Vec<Timestamp>,
    /// Why its runs are skipped for now: its creator may no longer create jobs in the context. Absent if they are not.
    pub suspended: Option<String>,
    /// When its last job was due.
    pub last_run: Option<Timestamp>,
    /// Its last job.
    pub last_job: Option<JobId>,
    /// How many jobs it created.
    pub runs: u64,
    /// How many runs were skipped because the previous one had not ended.
    pub skipped_runs: u64,
    /// How many runs were skipped because no server ran, or because its creator was not allowed to create jobs. At most
    /// 1000 are counted at a time.
    pub missed_runs: u64,
    /// The job of each run. Values of `env_vars` are masked, except those that `HERO_PLAIN` names.
    pub job: JobSpec,
}

/// A page of schedules, in the order of their next runs.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SchedulePage {
    /// The schedules.
    pub schedules: Vec<Schedule>,
    /// The cursor of the next page; absent on the last.
    pub next_cursor: Option<String>,
}

/// Whether the caller of a schedule may create its jobs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// It may.
    May,
    /// It may not; the text names the missing right.
    Lacks(String),
    /// Undecided: the caller has no right that is known here, and the rights of the context could not be read.
    Unread,
}

impl ScheduleSpec {
    /// The default of `missed_limit`.
    pub const MISSED_LIMIT: u16 = 100;

    /// Returns the schedule as callers see it before its first run, without the times of its next runs.
    pub fn shown(self, schedule_id: ScheduleId, created_at: Timestamp) -> Schedule {
        let mut job = self.job;
        job.env_vars = shown(job.env_vars);
        Schedule {
            schedule_id,
            name: self.name,
            cron: self.cron,
            every: self.every,
            time_zone: self.time_zone.unwrap_or_else(|| "UTC".to_owned()),
            overlap: self.overlap,
            missed: self.missed,
            missed_limit: self.missed_limit.unwrap_or(Self::MISSED_LIMIT),
            start_at: self.start_at,
            end_at: self.end_at,
            created_at,
            next_runs: Vec::new(),
            suspended: None,
            last_run: None,
            last_job: None,
            runs: 0,
            skipped_runs: 0,
            missed_runs: 0,
            job,
        }
    }
}
