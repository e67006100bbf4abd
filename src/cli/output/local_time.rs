//! Formats the times of schedules.

use chrono::{DateTime, Timelike as _};
use chrono_tz::Tz;

use crate::model::Timestamp;

/// Formats a time to the second in a time zone such as `Europe/Berlin`. With an unknown zone, returns UTC as the server
/// sent it.
pub(in crate::cli) fn local_time(time: Timestamp, zone: &str) -> String {
    let (Ok(zone), Some(utc)) = (zone.parse::<Tz>(), DateTime::from_timestamp_millis(time.as_millis())) else { return time.to_string() };
    let time = utc.with_timezone(&zone);
    time.format(if time.second() == 0 { "%Y-%m-%d %H:%M %Z" } else { "%Y-%m-%d %H:%M:%S %Z" }).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_the_clocks_of_its_zone_show_it() {
        let at = |text: &str, zone| local_time(text.parse().unwrap(), zone);
        assert_eq!(at("2026-11-23T08:00:00.000Z", "Europe/Berlin"), "2026-11-23 09:00 CET");
        assert_eq!(at("2026-07-23T08:00:07.500Z", "America/New_York"), "2026-07-23 04:00:07 EDT");
        assert_eq!(at("2026-07-23T08:00:00.000Z", "UTC"), "2026-07-23 08:00 UTC");
        assert_eq!(at("2026-07-23T08:00:00.000Z", "Mars"), "2026-07-23T08:00:00.000Z");
    }
}
