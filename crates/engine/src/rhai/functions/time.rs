use std::fmt::Write as _;
use std::time::Duration;

use chrono::format::{Fixed, Item, ParseResult, Parsed, StrftimeItems};
use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Utc};
use chrono_tz::Tz;
use rhai::{FLOAT, INT, ImmutableString, NativeCallContext};

use super::definition::{Definition, Functions};
use crate::rhai::native::{Native, excerpt, failed};
use hero_model::Timestamp;

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "now() -> string",
        description: "Returns the current date and time, in UTC, such as `2026-01-31T12:00:00.000Z`.",
        errors: "",
        example: "now().parse_time() > 0",
        result: "true",
    },
    Definition {
        signature: "now_ms() -> int",
        description: "Returns the current time in milliseconds since 1970. `timestamp()` is better for measuring a duration: `t.elapsed` is in seconds, and changes of the clock do not affect it.",
        errors: "",
        example: "now_ms() > 1700000000000",
        result: "true",
    },
    Definition {
        signature: "parse_time(text: string, format?: string) -> int",
        description: "Parses a point in time and returns milliseconds since 1970. Without a format, the text is RFC 3339, or a date alone, which means its midnight in UTC. A format is one of [strftime](https://docs.rs/chrono/0.4/chrono/format/strftime/index.html); the default time zone is UTC.",
        errors: "the text does not have that form; the message says what was expected.",
        example: r#"parse_time("31.01.2026 13:30", "%d.%m.%Y %H:%M")"#,
        result: "1769866200000",
    },
    Definition {
        signature: "format_time(time_ms: int, format?: string, time_zone?: string) -> string",
        description: "Formats a point in time, given in milliseconds since 1970. The default format is RFC 3339, the default time zone UTC. Formats are those of strftime, time zones those of the IANA, such as `Europe/Brussels`.",
        errors: "the format or the time zone does not exist, or the year has more than six digits.",
        example: r#"format_time(1769866200000, "%d.%m.%Y %H:%M", "Europe/Brussels")"#,
        result: r#""31.01.2026 14:30""#,
    },
    Definition {
        signature: "parse_duration(text: string) -> int",
        description: "Parses a duration and returns milliseconds, the unit of all time functions except `sleep`. Units are `ms`, `s`, `m`, `h`, `d` and `w`.",
        errors: "a number has no unit or an unknown one, or the duration exceeds the integers of 64 bits.",
        example: r#"format_time(parse_time("2026-01-31") + parse_duration("1d 1.5h"))"#,
        result: r#""2026-02-01T01:30:00.000Z""#,
    },
    Definition {
        signature: "format_duration(duration_ms: int) -> string",
        description: "Formats a duration, given in milliseconds, for people.",
        errors: "the duration is negative.",
        example: "format_duration(93784250)",
        result: r#""1d 2h 3m 4s 250ms""#,
    },
    Definition {
        signature: "sleep(seconds: int|float) -> nothing",
        description: "Waits for this number of seconds. A stop, or the end of the job's time, ends the wait at once.",
        errors: "",
        example: "sleep(0.01)",
        result: "",
    },
];

/// The units of durations in milliseconds, the longest first.
const UNITS: [(&str, INT); 6] = [("w", 604_800_000), ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];

pub(super) fn add(functions: &mut Functions<'_>) {
    functions.add("now", || ImmutableString::from(Timestamp::local().to_string()));
    functions.add("now_ms", || Timestamp::local().as_millis());
    functions.add("parse_time", |context: NativeCallContext, text: &str| {
        let midnight = || Some(text.parse::<NaiveDate>().ok()?.and_time(NaiveTime::MIN).and_utc());
        let time = DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc()).or_else(midnight);
        time.map(|time| time.timestamp_millis()).ok_or_else(|| {
            failed(&context, format!("{:?} is no time such as 2026-01-31T12:00:00Z and no date such as 2026-01-31", excerpt(text)))
        })
    });
    functions.add("parse_time", |context: NativeCallContext, text: &str, format: &str| {
        parsed(text, format).map_err(|wrong| failed(&context, wrong))
    });
    functions.add("format_time", |context: NativeCallContext, time: INT| -> Native<ImmutableString> {
        Ok(date_time(&context, time)?.to_rfc3339_opts(SecondsFormat::Millis, true).into())
    });
    functions.add("format_time", |context: NativeCallContext, time: INT, format: &str| formatted(&context, time, format, Tz::UTC));
    functions.add("format_time", |context: NativeCallContext, time: INT, format: &str, zone: &str| {
        let zone = zone.parse().map_err(|_| failed(&context, format!("there is no time zone {:?}", excerpt(zone))))?;
        formatted(&context, time, format, zone)
    });
    functions.add("parse_duration", |context: NativeCallContext, text: &str| duration(text).map_err(|wrong| failed(&context, wrong)));
    functions.add("format_duration", |context: NativeCallContext, duration: INT| written(&context, duration));
    let run = functions.run();
    functions.add("sleep", move |seconds: INT| run.sleep(Duration::from_secs(u64::try_from(seconds).unwrap_or(0))));
    let run = functions.run();
    functions.add("sleep", move |seconds: FLOAT| {
        // NaN and negative times count as 0; infinite ones last until the job ends.
        let time = if seconds > 0.0 { Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX) } else { Duration::ZERO };
        run.sleep(time)
    });
}

/// Parses a point in time in a format, in milliseconds.
fn parsed(text: &str, format: &str) -> Result<INT, String> {
    let items = || StrftimeItems::new(format);
    if items().any(|item| item == Item::Error) {
        return Err(format!("{:?} is no format of times", excerpt(format)));
    }
    if items().any(|item| item == Item::Fixed(Fixed::TimezoneName)) {
        return Err("%Z is the name of a time zone, which is not read: use %z".to_owned());
    }
    moment(text, items()).map_err(|error| format!("{:?} is no time of the form {:?}: {error}", excerpt(text), excerpt(format)))
}

/// The default time zone is UTC. A date alone means its midnight, and an hour alone means its beginning.
fn moment<'f>(text: &str, items: impl Iterator<Item = Item<'f>>) -> ParseResult<INT> {
    let mut parsed = Parsed::new();
    chrono::format::parse(&mut parsed, text, items)?;
    if parsed.timestamp().is_some() {
        return Ok(parsed.to_datetime_with_timezone(&Utc)?.timestamp_millis());
    }
    let says_hour = parsed.hour_div_12().is_some() || parsed.hour_mod_12().is_some();
    if says_hour && parsed.minute().is_none() {
        parsed.set_minute(0)?;
    }
    let has_time = says_hour || parsed.minute().is_some() || parsed.second().is_some();
    let time = if has_time { parsed.to_naive_time()? } else { NaiveTime::MIN };
    let local = parsed.to_naive_date()?.and_time(time).and_utc().timestamp_millis();
    Ok(local - INT::from(parsed.offset().unwrap_or(0)) * 1000)
}

fn date_time(context: &NativeCallContext<'_>, time: INT) -> Native<DateTime<Utc>> {
    DateTime::from_timestamp_millis(time).ok_or_else(|| failed(context, format!("{time} ms since 1970 is a year of more than six digits")))
}

fn formatted(context: &NativeCallContext<'_>, time: INT, format: &str, zone: Tz) -> Native<ImmutableString> {
    let mut text = String::new();
    let items = StrftimeItems::new(format);
    match write!(text, "{}", date_time(context, time)?.with_timezone(&zone).format_with_items(items)) {
        Ok(()) => Ok(text.into()),
        Err(_) => Err(failed(context, format!("{:?} is no format of times", excerpt(format)))),
    }
}

/// Parses a duration, in milliseconds.
fn duration(text: &str) -> Result<INT, String> {
    let wrong = || format!("{:?} is no duration such as 1h 30m; units are ms, s, m, h, d and w", excerpt(text));
    let (mut total, mut rest) = (0.0, text.trim());
    if rest.is_empty() {
        return Err(wrong());
    }
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(digits);
        let behind = behind.trim_start();
        let letters = behind.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, after) = behind.split_at(letters);
        let number: FLOAT = number.parse().map_err(|_| wrong())?;
        let (_, millis) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        #[expect(clippy::cast_precision_loss, reason = "the units are small")]
        let unit = *millis as FLOAT;
        total += number * unit;
        rest = after.trim_start();
    }
    format!("{total:.0}").parse().map_err(|_| format!("{:?} is beyond the integers of 64 bits", excerpt(text)))
}

fn written(context: &NativeCallContext<'_>, duration: INT) -> Native<ImmutableString> {
    if duration < 0 {
        return Err(failed(context, format!("{duration} is negative, which no duration is")));
    }
    let (mut left, mut parts) = (duration, Vec::new());
    // Weeks are parsed, but not printed: people count days.
    for (name, millis) in &UNITS[1..] {
        if left >= *millis {
            parts.push(format!("{}{name}", left / millis));
            left %= millis;
        }
    }
    Ok(if parts.is_empty() { "0s".into() } else { parts.join(" ").into() })
}
