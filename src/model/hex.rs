use std::fmt::Write as _;

/// Bytes in hexadecimal digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a text takes all");
    }
    text
}

/// The bytes of exactly so many pairs of hexadecimal digits.
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
