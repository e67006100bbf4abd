use super::time::number_and_unit;

/// Parses `65536`, `64KB`, `2MB` or `1GB`; as in Redis the units count in 1024.
pub fn parse_size(text: &str) -> Result<u64, String> {
    let bad = || format!("{text:?} is not a size (bytes, or such as 64KB, 2MB, 1GB)");
    let (number, unit) = number_and_unit(text).ok_or_else(bad)?;
    let power = match unit.as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 1,
        "m" | "mb" | "mib" => 2,
        "g" | "gb" | "gib" => 3,
        "t" | "tb" | "tib" => 4,
        _ => return Err(bad()),
    };
    let bytes = number * 1024_f64.powi(power);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked in the same line")]
    (bytes < 2_f64.powi(53)).then_some(bytes as u64).ok_or_else(bad)
}

/// Formats a number of bytes in the largest unit that leaves no fraction.
pub fn size_text(bytes: u64) -> String {
    let units = [(30, "GB"), (20, "MB"), (10, "KB")];
    let unit = units.into_iter().find(|(power, _)| bytes > 0 && bytes.is_multiple_of(1 << power));
    unit.map_or_else(|| bytes.to_string(), |(power, name)| format!("{}{name}", bytes >> power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_count_in_1024() {
        for (text, bytes) in [("0", 0), ("65_536", 65_536), ("64KB", 65_536), ("2MiB", 2 << 20), ("1.5g", 3 << 29)] {
            assert_eq!(parse_size(text).unwrap(), bytes, "{text}");
            assert_eq!(parse_size(&size_text(bytes)), Ok(bytes), "{text}");
        }
        for bad in ["", "MB", "-1", "1XB", "99999999TB"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
