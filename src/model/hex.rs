use std::fmt::Write as _;

/// Bytes in hexadecimal digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(text, "{byte:02x}").expect("a text takes all");
    }
    text
}
