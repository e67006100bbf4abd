//! Parses the patterns of schedules, and names the field of a pattern that is wrong.

use croner::Cron;

use super::Error;

/// Maximum length of a pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 256;
/// Maximum number of characters of a wrong pattern in an error.
const MAX_SHOWN_CHARS: usize = 48;
/// The fields of a pattern with seconds, and their values.
const FIELDS: [(&str, &str); 6] = [
    ("second", "0 to 59"),
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31, or L for the last one"),
    ("month", "1 to 12, or JAN to DEC"),
    ("weekday", "0 to 7, of which 0 and 7 are Sunday, or SUN to SAT"),
];

/// Parses a pattern.
pub(super) fn cron(pattern: &str) -> Result<Cron, Error> {
    let refuse = |reason: String| Err(Error::invalid("cron", reason));
    if pattern.len() > MAX_PATTERN_BYTES {
        return refuse(format!("has {} bytes, the limit is {MAX_PATTERN_BYTES} (a fixed limit)", pattern.len()));
    }
    let error = match pattern.parse::<Cron>() {
        Ok(cron) => return Ok(cron),
        Err(error) => error,
    };
    let shown = |text: &str| text.chars().take(MAX_SHOWN_CHARS).collect::<String>();
    let whole = shown(pattern);
    if pattern.starts_with('@') {
        return refuse(format!("{whole:?} is none of @hourly, @daily, @weekly, @monthly, @yearly"));
    }
    let fields: Vec<&str> = pattern.split_whitespace().collect();
    let names = match fields.len() {
        5 => &FIELDS[1..],
        6 => &FIELDS[..],
        count => {
            return refuse(format!(
                "{whole:?} has {count} fields; it takes five, such as \"0 9 * * MON-FRI\" (minute, hour, day of the month, month, weekday), \
                 or six with the second before them, such as \"*/10 * * * * *\""
            ));
        }
    };
    let wrong = (0..fields.len()).find(|at| alone(*at, &fields).parse::<Cron>().is_err());
    match wrong.map(|at| (fields[at], names[at])) {
        Some((field, (name, allowed))) => refuse(format!(
            "{:?} is no {name} in {whole:?}; it takes {allowed}, *, lists (1,2), ranges upward (1-5) and steps (*/2)",
            shown(field)
        )),
        None => refuse(format!("{whole:?} is no cron pattern: {}", error.to_string().trim_end_matches('.'))),
    }
}

/// Returns the pattern with this field as it is, and `*` in all others.
fn alone(at: usize, fields: &[&str]) -> String {
    (0..fields.len()).map(|other| if other == at { fields[at] } else { "*" }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_pattern_is_told_by_its_field_and_what_it_takes() {
        for (pattern, told) in [
            ("61 * * * *", "\"61\" is no minute in \"61 * * * *\"; it takes 0 to 59,"),
            ("* 25 * * *", "\"25\" is no hour in \"* 25 * * *\"; it takes 0 to 23,"),
            ("* * 32 * *", "\"32\" is no day of the month in"),
            ("* * * foo *", "\"foo\" is no month in \"* * * foo *\"; it takes 1 to 12, or JAN to DEC,"),
            ("* * * * 8", "\"8\" is no weekday in"),
            ("99 * * * * *", "\"99\" is no second in"),
            ("* 99 * * * *", "\"99\" is no minute in"),
            ("5-1 * * * *", "\"5-1\" is no minute in"),
            ("*/0 * * * *", "\"*/0\" is no minute in"),
            ("1 2 3", "\"1 2 3\" has 3 fields; it takes five,"),
            ("", "\"\" has 0 fields;"),
            ("@dayly", "\"@dayly\" is none of @hourly, @daily,"),
            ("* * * * * * * *", "has 8 fields"),
        ] {
            let said = cron(pattern).map(|_| ()).unwrap_err().to_string();
            assert!(said.starts_with("cron: ") && said.contains(told), "{pattern}: {said}");
        }
        assert!(cron(&"*".repeat(MAX_PATTERN_BYTES + 1)).is_err_and(|error| error.to_string().contains("256")));
        for pattern in ["0 9 * * MON-FRI", "*/10 * * * * *", "0 0 L * *", "@daily"] {
            assert!(cron(pattern).is_ok(), "{pattern}");
        }
    }
}
