/// The first integer in a JSON text that has no place in 64 bits with a sign, so that it would be rounded; shortened, if it is long.
///
/// Scripts have no other integers, and serde_json makes a float of what is larger. A number with a fraction or an exponent is a float
/// to begin with.
pub fn rounded(json: &str) -> Option<String> {
    /// No integer of fewer characters is too large.
    const SHORTEST: usize = 19;
    const LONGEST: usize = 48;
    let bytes = json.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_text(bytes, at),
            b'-' | b'0'..=b'9' => {
                let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
                let end = bytes[at..].iter().position(|byte| !is_part(byte)).map_or(bytes.len(), |length| at + length);
                let number = &json[at..end];
                if number.len() >= SHORTEST && !number.contains(['.', 'e', 'E']) && number.parse::<i64>().is_err() {
                    return Some(if number.len() > LONGEST { format!("{}…", &number[..LONGEST]) } else { number.to_owned() });
                }
                at = end;
            }
            _ => at += 1,
        }
    }
    None
}

/// Where a text that begins there has ended.
fn end_of_text(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_beyond_64_bits_are_found_and_nothing_else() {
        for (json, found) in [
            ("9223372036854775807", None),
            ("-9223372036854775808", None),
            ("9223372036854775808", Some("9223372036854775808")),
            ("[1,{\"a\\\"1\":-9223372036854775809}]", Some("-9223372036854775809")),
            ("1e300", None),
            ("18446744073709551616.0", None),
            ("18446744073709551616E0", None),
            (r#"{"18446744073709551616":"é\\","b":"\"18446744073709551616"}"#, None),
            (r#"{"a":"\\", "b":18446744073709551616}"#, Some("18446744073709551616")),
            ("\"18446744073709551616", None),
            ("\"\\", None),
            ("", None),
        ] {
            assert_eq!(rounded(json).as_deref(), found, "{json}");
        }
        assert!(rounded(&"9".repeat(1000)).unwrap().len() < 60);
    }
}
