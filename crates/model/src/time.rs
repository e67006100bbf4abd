use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::excerpt::excerpt;

/// The error for a text that is not a point in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 time such as 2026-11-21T10:00:00Z")]
pub struct InvalidTime;

/// A point in time, to the millisecond, in UTC.
///
/// Hash fields and the wire have it as RFC 3339 text, sorted sets as an integer of milliseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last point in time that RFC 3339 can write.
    const MAX: i64 = 253_402_300_799_999;

    /// Creates a time from milliseconds since 1970, clamped to the years 1970 to 9999.
    pub const fn from_millis(millis: i64) -> Self {
        Self(if millis < 0 {
            0
        } else if millis > Self::MAX {
            Self::MAX
        } else {
            millis
        })
    }

    /// Returns the time of this machine's clock. Jobs use the store's clock instead, which follows Redis.
    pub fn local() -> Self {
        Self::from_millis(Utc::now().timestamp_millis())
    }

    /// Milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the time `duration` after this one.
    pub fn plus(self, duration: Duration) -> Self {
        Self::from_millis(self.0.saturating_add(i64::try_from(duration.as_millis()).unwrap_or(Self::MAX)))
    }

    /// Returns the time `duration` before this one.
    pub fn minus(self, duration: Duration) -> Self {
        Self::from_millis(self.0.saturating_sub(i64::try_from(duration.as_millis()).unwrap_or(Self::MAX)))
    }

    /// Returns the duration from `earlier` to this time, or zero if `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0 - earlier.0).unwrap_or(0))
    }

    /// The hour of this time as `yyyymmddhh`.
    pub fn hour(self) -> String {
        self.date_time().format("%Y%m%d%H").to_string()
    }

    fn date_time(self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default()
    }

    /// The text in hash fields and on the wire.
    fn as_str(&self) -> String {
        self.date_time().to_rfc3339_opts(SecondsFormat::Millis, true)
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        let time = DateTime::parse_from_rfc3339(text).map_err(|_| InvalidTime)?;
        Ok(Self::from_millis(time.timestamp_millis()))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str())
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Timestamp {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Timestamp".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// A duration in seconds. Fractions are allowed, negative or infinite numbers are not.
#[derive(Clone, Copy, PartialEq)]
pub struct Seconds(Duration);

impl Seconds {
    /// The longest accepted duration: 100 years.
    pub const MAX: f64 = 3_155_760_000.0;

    /// Returns the value as a [`Duration`].
    pub const fn duration(self) -> Duration {
        self.0
    }

    /// Creates a duration, unless `seconds` is negative, infinite or above [`Seconds::MAX`].
    pub fn new(seconds: f64) -> Option<Self> {
        (0.0..=Self::MAX).contains(&seconds).then(|| Self(Duration::from_secs_f64(seconds)))
    }

    /// Reads `90`, `0.5`, `250ms`, `30s`, `5m`, `24h` or `7d`.
    pub fn read(text: &str) -> Result<Self, String> {
        let bad = || format!("{:?} is not a length of time (seconds, or such as 250ms, 30s, 5m, 24h, 7d)", excerpt(text, 48));
        let (number, unit) = number_and_unit(text).ok_or_else(bad)?;
        let unit = match unit.as_str() {
            "ms" => 0.001,
            "" | "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return Err(bad()),
        };
        Self::new(number * unit).ok_or_else(bad)
    }
}

/// Splits `64MB` into its number and its unit in lower case.
pub(super) fn number_and_unit(text: &str) -> Option<(f64, String)> {
    let at = text.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).unwrap_or(text.len());
    let number = text[..at].replace('_', "").parse().ok()?;
    Some((number, text[at..].trim().to_ascii_lowercase()))
}

/// Parses `90`, `0.5`, `250ms`, `30s`, `5m`, `24h` or `7d`, up to 100 years.
pub fn parse_time(text: &str) -> Result<Duration, String> {
    Seconds::read(text).map(Seconds::duration)
}

impl From<Duration> for Seconds {
    fn from(duration: Duration) -> Self {
        Self(duration)
    }
}

impl fmt::Debug for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_secs_f64().fmt(f)
    }
}

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        text.parse().ok().and_then(Self::new).ok_or_else(|| format!("{text:?} is not a number of seconds from 0 to {}", Self::MAX))
    }
}

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.subsec_nanos() == 0 { serializer.serialize_u64(self.0.as_secs()) } else { serializer.serialize_f64(self.0.as_secs_f64()) }
    }
}

/// Reads a number of seconds, or a text with a unit, such as `5m`. A text that is only a number may be a mistake.
impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Length;

        impl Visitor<'_> for Length {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of seconds, or a text with a unit such as \"250ms\" or \"5m\"")
            }

            fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
                let wrong = || E::custom(format!("{seconds} is not a number of seconds from 0 to {}", Seconds::MAX));
                Seconds::new(seconds).ok_or_else(wrong)
            }

            #[expect(clippy::cast_precision_loss, reason = "beyond 2^53 it is too large as well")]
            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
                self.visit_f64(seconds as f64)
            }

            #[expect(clippy::cast_precision_loss, reason = "beyond 2^53 it is too large as well")]
            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
                self.visit_f64(seconds as f64)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Seconds, E> {
                if number_and_unit(text).is_some_and(|(_, unit)| unit.is_empty()) {
                    return Err(E::custom(format!("{:?} is a text without a unit: a number of seconds is no text", excerpt(text, 48))));
                }
                Seconds::read(text).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(Length)
    }
}

impl JsonSchema for Seconds {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Seconds".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": Self::MAX })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_reads_what_it_writes() {
        let time: Timestamp = "2026-11-21T10:00:00.250Z".parse().unwrap();
        assert_eq!(time.to_string(), "2026-11-21T10:00:00.250Z");
        assert_eq!("2026-11-21T11:00:00.25+01:00".parse::<Timestamp>().unwrap(), time);
        assert_eq!(time.hour(), "2026112110");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn times_are_seconds_or_have_a_unit() {
        for (text, millis) in [("90", 90_000), ("0.5", 500), ("250ms", 250), ("5m", 300_000), ("24h", 86_400_000), ("7 d", 604_800_000)] {
            assert_eq!(parse_time(text).unwrap().as_millis(), millis, "{text}");
        }
        for bad in ["", "s", "-1", "1e9", "5 parsecs", "1e300s", "99999999999", "inf", "1.2.3"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn seconds_are_neither_negative_nor_endless() {
        for bad in ["-1", "1e300", "\"1\"", "\"\"", "\"5 parsecs\"", "true", "[1]", "null"] {
            assert!(serde_json::from_str::<Seconds>(bad).is_err(), "{bad}");
        }
        for (text, millis) in [("\"250ms\"", 250), ("\"1.5 s\"", 1500), ("\"5m\"", 300_000), ("2", 2000)] {
            assert_eq!(serde_json::from_str::<Seconds>(text).unwrap().duration(), Duration::from_millis(millis), "{text}");
        }
        assert_eq!(serde_json::from_str::<Seconds>("1.5").unwrap().duration(), Duration::from_millis(1500));
        assert_eq!(serde_json::to_string(&Seconds::new(60.0).unwrap()).unwrap(), "60");
    }
}
