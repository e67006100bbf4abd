/// The digits by value.
const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];

/// Returns bytes as hexadecimal digits, two for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|digit| DIGITS[usize::from(digit)]).collect()
}

/// Reads exactly `BYTES` pairs of hexadecimal digits.
pub fn unhex<const BYTES: usize>(text: &str) -> Option<[u8; BYTES]> {
    if text.len() != 2 * BYTES || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_back_and_what_is_no_bytes_is_nothing() {
        assert_eq!(unhex(&hex(&[0, 15, 255])), Some([0, 15, 255]));
        for bad in ["", "0", "000", "0g", "+1", "é"] {
            assert_eq!(unhex::<1>(bad), None, "{bad}");
        }
    }
}
