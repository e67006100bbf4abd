use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Expected, Unexpected};

use hero_model::{Beyond, excerpt, without_position};

/// A fault in the parameters of a call, with its place, described for the caller.
#[derive(Debug)]
pub struct ParamsError {
    /// The path of the wrong value, such as `jobs[3].labels.colour`. Empty if it concerns all parameters together.
    path: String,
    wrong: ParamsErrorKind,
}

#[derive(Debug)]
enum ParamsErrorKind {
    Missing,
    Twice,
    /// The parameter does not exist. The text lists those that do.
    Unknown(String),
    Value {
        expected: String,
        given: String,
    },
    /// The message of the reader of the value.
    Other(String),
}

/// The most characters of a given value that a message repeats.
const MAX_SHOWN_CHARS: usize = 48;
/// Messages repeat no values of this parameter: they may be secrets, and refusals are logged.
const SECRET: &str = "env_vars";

impl ParamsError {
    /// Returns the fault of an unknown parameter `name`; `known` are those that exist.
    pub(super) fn unknown<T: AsRef<str>>(name: &str, known: &[T]) -> Self {
        Self { path: String::new(), wrong: ParamsErrorKind::Unknown(listed(known)) }.inside(name)
    }

    /// Returns the fault of a repeated parameter.
    pub(super) fn twice(name: &str) -> Self {
        Self { path: String::new(), wrong: ParamsErrorKind::Twice }.inside(name)
    }

    /// Returns an error of the JSON parser without its line and column, because they belong to a text that the caller never saw.
    pub(super) fn parser(error: impl fmt::Display) -> Self {
        Self::custom(without_position(&error.to_string()))
    }

    /// Returns the fault of a number in free JSON that scripts cannot represent.
    pub(super) fn beyond(beyond: &Beyond) -> Self {
        Self { path: beyond.path.clone(), wrong: ParamsErrorKind::Other(format!("{} is {}", beyond.number, Beyond::HINT)) }
    }

    /// Returns this fault with the number in the caller's spelling, because the parser has rounded it.
    pub(super) fn with_number(mut self, beyond: Beyond) -> Self {
        if let ParamsErrorKind::Value { given, .. } = &mut self.wrong
            && self.path == beyond.path
            && !self.path.contains(SECRET)
        {
            *given = beyond.number;
        }
        self
    }

    /// Returns this fault with `words` as the expected values.
    pub(super) fn of_words(mut self, words: &[&str]) -> Self {
        if let ParamsErrorKind::Value { expected, .. } = &mut self.wrong {
            *expected = one_of(words);
        }
        self
    }

    /// Returns this fault with the member `name` before its path.
    pub(super) fn inside(mut self, name: &str) -> Self {
        if let ParamsErrorKind::Value { given, .. } = &mut self.wrong
            && name == SECRET
        {
            *given = kind_of(given).to_owned();
        }
        let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let mut path = if is_plain { cut(name).into_owned() } else { format!("[{:?}]", cut(name)) };
        if !self.path.is_empty() && !self.path.starts_with('[') {
            path.push('.');
        }
        self.path.insert_str(0, &path);
        self
    }

    /// Returns this fault with the index of an array before its path.
    pub(super) fn inside_item(mut self, index: usize) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path.insert_str(0, &format!("[{index}]{dot}"));
        self
    }
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        match &self.wrong {
            ParamsErrorKind::Missing => write!(f, "parameter `{path}` is missing"),
            ParamsErrorKind::Twice => write!(f, "parameter `{path}` is given twice"),
            ParamsErrorKind::Unknown(known) => write!(f, "unknown parameter `{path}`; known: {known}"),
            ParamsErrorKind::Value { expected, given } if path.is_empty() => write!(f, "expected {expected}, but got {given}"),
            ParamsErrorKind::Value { expected, given } => write!(f, "parameter `{path}`: expected {expected}, but got {given}"),
            ParamsErrorKind::Other(text) if path.is_empty() => f.write_str(text),
            ParamsErrorKind::Other(text) => write!(f, "parameter `{path}`: {text}"),
        }
    }
}

impl std::error::Error for ParamsError {}

impl Error for ParamsError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        Self { path: String::new(), wrong: ParamsErrorKind::Other(text.to_string()) }
    }

    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self { path: String::new(), wrong: ParamsErrorKind::Value { expected: in_words(expected), given: shown(given) } }
    }

    fn invalid_value(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(given, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self { path: String::new(), wrong: ParamsErrorKind::Value { expected: in_words(expected), given: format!("an array of {length}") } }
    }

    fn unknown_variant(word: &str, words: &'static [&'static str]) -> Self {
        Self { path: String::new(), wrong: ParamsErrorKind::Value { expected: one_of(words), given: shown(Unexpected::Str(word)) } }
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        Self::unknown(name, known)
    }

    fn missing_field(name: &'static str) -> Self {
        Self { path: String::new(), wrong: ParamsErrorKind::Missing }.inside(name)
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::twice(name)
    }
}

/// Lists names as text.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    if names.is_empty() { "none".into() } else { names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ") }
}

fn one_of(words: &[&str]) -> String {
    format!("one of {}", listed(words))
}

/// Translates the expectations of serde's own types into words of JSON.
fn in_words(expected: &dyn Expected) -> String {
    let words = expected.to_string();
    let whole = |from: i64, to: i64| format!("a whole number from {from} to {to}");
    match words.as_str() {
        "u8" => whole(0, u8::MAX.into()),
        "u16" => whole(0, u16::MAX.into()),
        "u32" => whole(0, u32::MAX.into()),
        // Integers that do not fit into an `i64` are refused everywhere.
        "u64" | "usize" => whole(0, i64::MAX),
        "i64" => whole(i64::MIN, i64::MAX),
        "f64" => "a number".into(),
        "a string" | "str" | "a borrowed string" => "a text".into(),
        "a boolean" => "true or false".into(),
        "a sequence" => "an array".into(),
        "a map" => "an object".into(),
        _ if words.starts_with("struct ") => "an object".into(),
        _ => words,
    }
}

fn shown(given: Unexpected<'_>) -> String {
    match given {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => format!("{value:?}"),
        Unexpected::Str(text) => format!("{:?}", cut(text)),
        Unexpected::Unit | Unexpected::Option => "null".into(),
        Unexpected::Seq => "an array".into(),
        Unexpected::Map => "an object".into(),
        other => other.to_string(),
    }
}

/// Returns the kind of a value from its beginning.
fn kind_of(shown: &str) -> &str {
    match shown.bytes().next() {
        Some(b'"') => "a text",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => shown,
    }
}

fn cut(text: &str) -> Cow<'_, str> {
    excerpt(text, MAX_SHOWN_CHARS)
}
