use std::borrow::Cow;
use std::fmt;

/// A whole number in a JSON text that does not fit into an `i64`.
///
/// serde_json reads it as a rounded fraction or as a `u64`, so the text itself has to be searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beyond {
    /// Its path, such as `args.list[3].id`.
    pub path: String,
    /// The number as written.
    pub number: String,
}

/// Maximum number of bytes of a path or a number in an error. Longer ones are cut.
const MAX_SHOWN_BYTES: usize = 200;
/// Maximum depth of arrays and objects to follow. Accepted texts are never nested this deeply.
const MAX_DEPTH: usize = 1000;

impl Beyond {
    /// The reason for the refusal, and the alternative.
    pub const HINT: &str =
        "beyond the integers of scripts (-9223372036854775808 to 9223372036854775807); give it as a text, or as a fraction";

    /// Returns the first such number in a JSON text; `root` is the name of the whole text in the path. The result is
    /// meaningless if the text is not JSON.
    pub fn find(text: &str, root: &str) -> Option<Self> {
        let (bytes, mut at, mut stack) = (text.as_bytes(), 0, Vec::new());
        while let Some(byte) = bytes.get(at) {
            let begin = at;
            at += 1;
            // The parser refuses texts that are nested deeper.
            if stack.len() > MAX_DEPTH {
                return None;
            }
            match byte {
                b'{' => stack.push(Inside::Object("")),
                b'[' => stack.push(Inside::Array(0)),
                b'}' | b']' => drop(stack.pop()),
                b',' => {
                    if let Some(Inside::Array(index)) = stack.last_mut() {
                        *index += 1;
                    }
                }
                b'"' => {
                    at = end_of_text(bytes, at);
                    // A string in an object is a name or a value; the last one before a number is its name.
                    if let Some(Inside::Object(name)) = stack.last_mut() {
                        *name = text.get(begin + 1..at.saturating_sub(1)).unwrap_or_default();
                    }
                }
                b'-' | b'0'..=b'9' => {
                    at = end_of_number(bytes, at);
                    let number = &text[begin..at];
                    if !number.contains(['.', 'e', 'E']) && number.parse::<i64>().is_err() {
                        return Some(Self { path: path(root, &stack), number: cut(number) });
                    }
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the step of a path into an array.
    pub fn index(at: usize) -> String {
        format!("[{at}]")
    }

    /// Returns the step of a path into an object.
    pub fn member(name: &str) -> String {
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_plain { format!(".{name}") } else { format!("[\"{name}\"]") }
    }
}

impl fmt::Display for Beyond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, {}", self.path, self.number, Self::HINT)
    }
}

/// Returns a JSON text with each `-0` replaced by `0`, or the first integer beyond 64 bits; `root` is the name of the
/// whole text in its path.
pub fn exact<'t>(text: &'t str, root: &str) -> Result<Cow<'t, str>, Beyond> {
    match Beyond::find(text, root) {
        None => Ok(plain_zeros(text)),
        Some(beyond) => Err(beyond),
    }
}

/// Returns a JSON text with each `-0` replaced by `0`, because serde_json would read this integer as the fraction -0.0.
pub fn plain_zeros(text: &str) -> Cow<'_, str> {
    let mut plain = Cow::Borrowed(text);
    if !text.contains("-0") {
        return plain;
    }
    let (bytes, mut at) = (text.as_bytes(), 0);
    while let Some(byte) = bytes.get(at) {
        let begin = at;
        at = match byte {
            b'"' => end_of_text(bytes, at + 1),
            b'-' | b'0'..=b'9' => end_of_number(bytes, at + 1),
            _ => at + 1,
        };
        if bytes.get(begin..at) == Some(b"-0") {
            // The text keeps its length, so that positions in it stay valid.
            plain.to_mut().replace_range(begin..begin + 1, " ");
        }
    }
    plain
}

enum Inside<'t> {
    Array(usize),
    /// The name as written.
    Object(&'t str),
}

/// The position after the quote that ends a string.
fn end_of_text(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The position after the last character of a number.
fn end_of_number(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')).count()
}

fn path(root: &str, stack: &[Inside<'_>]) -> String {
    let mut path = root.to_owned();
    for inside in stack {
        path.push_str(&match inside {
            Inside::Array(at) => Beyond::index(*at),
            Inside::Object(name) => Beyond::member(name),
        });
    }
    cut(&path)
}

/// Cuts a text to [`MAX_SHOWN_BYTES`] bytes.
fn cut(text: &str) -> String {
    match text.char_indices().find(|(at, _)| *at >= MAX_SHOWN_BYTES) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<(String, String)> {
        Beyond::find(text, "args").map(|beyond| (beyond.path, beyond.number))
    }

    #[test]
    fn the_first_whole_number_that_does_not_fit_is_found_with_its_path() {
        let some = |path: &str, number: &str| Some((path.to_owned(), number.to_owned()));
        assert_eq!(found("9223372036854775808"), some("args", "9223372036854775808"));
        assert_eq!(found("[1, -9223372036854775809]"), some("args[1]", "-9223372036854775809"));
        assert_eq!(
            found(r#"{"a": ["]", {"b": 1}], "list": [0, {"x\"": "y", "id": 99999999999999999999}]}"#),
            some("args.list[1].id", "99999999999999999999")
        );
        assert_eq!(
            found(r#"{"odd key": {"k": "v", "é": 18446744073709551615}}"#),
            some("args[\"odd key\"][\"é\"]", "18446744073709551615")
        );
        let long = format!("{{\"{}\":{}}}", "é".repeat(500), "9".repeat(500));
        let (path, number) = found(&long).unwrap();
        assert!(path.len() < 250 && number.len() < 250 && path.ends_with('…') && number.ends_with('…'));
    }

    #[test]
    fn what_fits_and_what_is_no_whole_number_passes() {
        for text in [
            "9223372036854775807",
            "-9223372036854775808",
            "1e400",
            "99999999999999999999.0",
            "99999999999999999999e0",
            r#""99999999999999999999""#,
            r#"{"99999999999999999999": [1, "\\", "\"99999999999999999999"]}"#,
            "",
            "[",
            "\"\\",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn minus_zero_is_zero_where_it_is_an_integer() {
        for (text, expected) in [
            ("-0", " 0"),
            ("[-0,-0.0,-0e1,1e-0,-01,0]", "[ 0,-0.0,-0e1,1e-0,-01,0]"),
            (r#"{"-0":[-0 , "x-0\"-0",-0],"é":-0}"#, r#"{"-0":[ 0 , "x-0\"-0", 0],"é": 0}"#),
            ("\"-0", "\"-0"),
            ("-", "-"),
        ] {
            assert_eq!(plain_zeros(text), expected);
        }
        assert_eq!(exact("[-0, 9223372036854775808]", "args").unwrap_err().path, "args[1]");
        assert_eq!(exact("[-0]", "args").unwrap(), "[ 0]");
    }
}
