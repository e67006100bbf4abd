//! The protobuf message, the same as in `proto/conveyor.proto`.

use prost::Message;

use super::MarshalError;

/// A job of the conveyor layout.
#[derive(Clone, PartialEq, Message)]
pub struct Job {
    /// The id of the job. [`add`](super::add) creates one if it is empty. Hero's pools accept UUIDs only.
    #[prost(string, tag = "1")]
    pub uuid: String,
    /// The type that decides which consumer runs it. For hero's pools it is the script type.
    #[prost(string, tag = "2")]
    pub r#type: String,
    /// The name of its queue.
    #[prost(string, tag = "3")]
    pub queue: String,
    /// The work to do. For hero's pools it is the text of the script.
    #[prost(bytes = "vec", tag = "4")]
    pub payload: Vec<u8>,
    /// The earliest time at which it runs.
    #[prost(message, optional, tag = "5")]
    pub run_at: Option<Time>,
    /// The parent of the job, or an empty text.
    #[prost(string, tag = "6")]
    pub parent_uuid: String,
    /// The job that must be closed first, or an empty text.
    #[prost(string, tag = "7")]
    pub predecessor_uuid: String,
    /// The start of its last attempt.
    #[prost(message, optional, tag = "8")]
    pub started_at: Option<Time>,
    /// The number of failed attempts.
    #[prost(int32, tag = "9")]
    pub retry: i32,
    /// The total number of attempts; 0 means three.
    #[prost(int32, tag = "10")]
    pub max_retries: i32,
    /// The error of the last attempt.
    #[prost(string, tag = "11")]
    pub last_failure: String,
    /// Its status, a number of [`Status`].
    #[prost(enumeration = "Status", tag = "12")]
    pub status: i32,
}

/// The status of a conveyor job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
pub enum Status {
    /// No status is given.
    Unknown = 0,
    /// It is in a queue, or waits to be queued.
    Enqueued = 1,
    /// Its attempt runs.
    Running = 2,
    /// It returned successfully.
    Completed = 3,
    /// It failed for good.
    Failed = 4,
}

/// A point in time: `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Time {
    /// Seconds since 1970, UTC.
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    /// Nanoseconds after these seconds, at most 999,999,999.
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

/// The years 1 to 9999, as the format requires.
const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
/// Default total number of attempts of a job.
const DEFAULT_ATTEMPTS: i32 = 3;

impl Time {
    /// True if the format allows this time.
    pub fn is_valid(&self) -> bool {
        SECONDS.contains(&self.seconds) && (0..1_000_000_000).contains(&self.nanos)
    }

    /// Returns the seconds since 1970, with a fraction.
    #[expect(clippy::cast_precision_loss, reason = "a microsecond is lost after the year 2255")]
    pub fn epoch_seconds(&self) -> f64 {
        self.seconds as f64 + f64::from(self.nanos) / 1e9
    }
}

impl From<hero_model::Timestamp> for Time {
    fn from(time: hero_model::Timestamp) -> Self {
        let nanos = i32::try_from(time.as_millis().rem_euclid(1000) * 1_000_000).expect("less than a second");
        Self { seconds: time.as_millis().div_euclid(1000), nanos }
    }
}

impl Job {
    /// Returns the bytes of the job. Fails if they exceed `limit`.
    pub fn marshal(&self, limit: usize) -> Result<Vec<u8>, MarshalError> {
        for (field, time) in [("run_at", &self.run_at), ("started_at", &self.started_at)] {
            if let Some(time) = time.filter(|time| !time.is_valid()) {
                return Err(MarshalError::Time { field, seconds: time.seconds, nanos: time.nanos });
            }
        }
        let length = self.encoded_len();
        if length > limit { Err(MarshalError::TooLong { length, limit }) } else { Ok(self.encode_to_vec()) }
    }

    /// Returns the number of remaining attempts, including this one.
    pub(super) fn attempts_left(&self) -> u32 {
        let all = if self.max_retries > 0 { self.max_retries } else { DEFAULT_ATTEMPTS };
        u32::try_from(all.saturating_sub(self.retry.max(0))).unwrap_or(0).max(1)
    }

    /// Returns the uuid of its parent, or an empty text. A job that names itself has no parent.
    pub(super) fn parent(&self) -> &str {
        if self.parent_uuid == self.uuid { "" } else { &self.parent_uuid }
    }

    /// Returns the bytes of the job with the status "failed for good".
    pub(super) fn as_failed(&self, reason: &str, failures: i32) -> Vec<u8> {
        let mut job = self.clone();
        job.last_failure = reason.to_owned();
        job.retry = job.retry.saturating_add(failures);
        job.set_status(Status::Failed);
        job.encode_to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names, types and numbers of the fields in the `.proto` file.
    fn declared() -> Vec<(String, String, String)> {
        let text = include_str!("../../../../proto/conveyor.proto");
        let message = text.split("message Job {").nth(1).unwrap().split('}').next().unwrap();
        let fields = message.lines().filter(|line| line.trim_end().ends_with(';') && !line.trim_start().starts_with("//"));
        fields
            .map(|line| {
                let words: Vec<&str> = line.trim().trim_end_matches(';').split_whitespace().collect();
                (words[1].to_owned(), words[0].to_owned(), words[3].to_owned())
            })
            .collect()
    }

    /// The same of the Rust type, from its source.
    fn derived() -> Vec<(String, String, String)> {
        let text = include_str!("wire.rs");
        let code = text.split("pub struct Job {").nth(1).unwrap().split("\n}").next().unwrap();
        let mut attributes = code.split("#[prost(").skip(1);
        let field = |part: &str| {
            let (attribute, rest) = part.split_once(")]").unwrap();
            let name = rest.split("pub ").nth(1).unwrap().split(':').next().unwrap().trim_start_matches("r#");
            let number = attribute.split("tag = \"").nth(1).unwrap().trim_end_matches('"');
            let kind = match attribute.split([',', ' ']).next().unwrap() {
                "enumeration" => "Status",
                "message" => "google.protobuf.Timestamp",
                kind => kind,
            };
            (name.to_owned(), kind.to_owned(), number.to_owned())
        };
        attributes.by_ref().map(field).collect()
    }

    #[test]
    fn the_type_is_the_message_of_the_proto_file() {
        assert_eq!(declared().len(), 12);
        assert_eq!(derived(), declared());
        let text = include_str!("../../../../proto/conveyor.proto");
        for status in [Status::Unknown, Status::Enqueued, Status::Running, Status::Completed, Status::Failed] {
            let line = format!("  {} = {};", format!("{status:?}").to_uppercase(), status as i32);
            assert!(text.lines().any(|declared| declared == line), "{line}");
        }
    }

    #[test]
    fn a_job_has_the_attempts_it_asks_for_and_three_by_default() {
        let left = |retry, max_retries| Job { retry, max_retries, ..Job::default() }.attempts_left();
        assert_eq!([left(0, 0), left(1, 0), left(0, 1), left(0, 7), left(6, 7), left(9, 7), left(-5, -1)], [3, 2, 1, 7, 1, 1, 3]);
        assert_eq!(left(i32::MIN, i32::MAX), u32::try_from(i32::MAX).unwrap());
    }
}
