use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::Error;
use crate::model::{ErrorKind, JobError, Json};

/// Patterns whose matches never reach a log or the text of an error.
///
/// In a pattern `*` stands for any number of characters but white space, and everything else for itself.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    patterns: Arc<[Regex]>,
}

/// What stands in the place of a masked value.
const MASKED: &str = "***";
/// Values shorter than this are no secrets, and masking them would make logs unreadable.
const SHORTEST_SECRET: usize = 3;
/// What `*` stands for.
const ANYTHING: &str = r"\S*";
/// Stands where a message, or a text in it, was cut.
const CUT: char = '…';
/// In how many places a message may be cut.
const MOST_CUTS: usize = 32;
/// Of how many lines values are known one by one. Each is looked for in each text.
const MOST_LINES: usize = 500;

impl Mask {
    /// A mask of patterns.
    pub fn new(patterns: &[String]) -> Result<Self, Error> {
        let compiled = patterns.iter().map(|pattern| {
            let wrong = |why: String| Error::Mask { pattern: pattern.clone(), why };
            if pattern.chars().all(|c| c == '*' || c.is_whitespace()) {
                return Err(wrong("it would mask everything; write what the text begins or ends with, such as tok_*".into()));
            }
            let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
            Regex::new(&parts.join(ANYTHING)).map_err(|error| wrong(error.to_string().lines().last().unwrap_or_default().to_owned()))
        });
        Ok(Self { patterns: compiled.collect::<Result<Vec<_>, _>>()?.into() })
    }

    /// Whether a pattern reads as if somebody took it for a regular expression, which it is not.
    pub fn looks_like_a_regular_expression(pattern: &str) -> bool {
        let has = |words: &[&str]| words.iter().any(|word| pattern.contains(word));
        let class = pattern.split_once('[').is_some_and(|(_, rest)| rest.contains(']'));
        class || has(&[".*", ".+", "\\", "(?", "|"]) || pattern.starts_with('^') || pattern.ends_with('$') || pattern.ends_with('+')
    }

    pub(super) fn apply(&self, secrets: &Secrets, text: String) -> String {
        let mut text = text;
        for secret in secrets.0.iter() {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), MASKED);
            }
        }
        for pattern in self.patterns.iter() {
            if pattern.is_match(&text) {
                text = pattern.replace_all(&text, MASKED).into_owned();
            }
        }
        text
    }

    /// The same for an error, before anybody else gets it. It may repeat what the script was given: the value that is no number, say.
    pub(super) fn of_error(&self, secrets: &Secrets, error: JobError) -> JobError {
        // The words of these are ours, and others compare them.
        if matches!(error.kind, ErrorKind::Timeout | ErrorKind::Stopped) {
            return error;
        }
        JobError {
            message: secrets.without_beginning_at_cut(self.apply(secrets, error.message)),
            stack: error.stack.into_iter().map(|name| secrets.without_beginning_at_cut(self.apply(secrets, name))).collect(),
            data: error.data.and_then(|data| self.of_data(secrets, &data)),
            ..error
        }
    }

    /// The same for everything that is written in JSON. A number that has to be masked becomes a text.
    fn of_data(&self, secrets: &Secrets, data: &Json) -> Option<Json> {
        let masked = |text: String| secrets.without_beginning_at_end(self.apply(secrets, text));
        let mut value = data.to_value().ok()?;
        let mut left = vec![&mut value];
        while let Some(part) = left.pop() {
            match part {
                Value::String(text) => *text = masked(std::mem::take(text)),
                Value::Number(number) => {
                    let plain = number.to_string();
                    let text = masked(plain.clone());
                    if text != plain {
                        *part = text.into();
                    }
                }
                Value::Array(items) => left.extend(items),
                Value::Object(members) => {
                    *members = std::mem::take(members).into_iter().map(|(name, value)| (masked(name), value)).collect();
                    left.extend(members.values_mut());
                }
                Value::Null | Value::Bool(_) => {}
            }
        }
        Some(value.into())
    }
}

/// What must not be told of a job.
#[derive(Debug, Clone)]
pub(super) struct Masker {
    pub(super) mask: Mask,
    pub(super) secrets: Secrets,
}

impl Masker {
    /// A text without it, also where the text was cut.
    pub(super) fn apply(&self, text: String) -> String {
        self.secrets.without_beginning_at_cut(self.mask.apply(&self.secrets, text))
    }
}

/// Values of a job's environment, the longest first, so that one that contains another goes whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<[String]>);

impl Secrets {
    /// The values, also as they are written within a map, an array or JSON, and each line of those that have several: so they are logged.
    pub(super) fn new(values: impl Iterator<Item = String>) -> Self {
        let written = |value: String| {
            let inner = |quoted: String| quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
            let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
            let forms = (!is_plain).then(|| [inner(format!("{value:?}")), inner(serde_json::Value::from(value.as_str()).to_string())]);
            std::iter::once(value).chain(forms.into_iter().flatten())
        };
        let values: Vec<String> = values.collect();
        let is_part = |value: &String| value.contains(['\n', '\r']) || value.trim().len() < value.len();
        let of_values = values.iter().filter(|value| is_part(value));
        let mut of_values: Vec<_> =
            of_values.map(|value| value.lines().map(str::trim).filter(|line| line.len() >= SHORTEST_SECRET)).collect();
        let mut lines: Vec<String> = Vec::new();
        // One of each in turn, so that a long value leaves room for the others.
        while lines.len() < MOST_LINES && !of_values.is_empty() {
            of_values.retain_mut(|of_value| of_value.next().map(|line| lines.push(line.to_owned())).is_some());
        }
        let values = values.into_iter().chain(lines);
        let mut secrets: Vec<String> = values.filter(|value| value.len() >= SHORTEST_SECRET).flat_map(written).collect();
        secrets.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        Self(secrets.into())
    }

    /// Masks the beginnings of values wherever a text was cut.
    fn without_beginning_at_cut(&self, text: String) -> String {
        let cuts = text.matches(CUT).count();
        if cuts == 0 || self.0.is_empty() {
            return text;
        }
        // Messages of ours are cut in one or two places. With more, somebody plays with us, and looking at each would take long.
        if cuts > MOST_CUTS {
            return MASKED.to_owned();
        }
        let mut masked = String::with_capacity(text.len());
        for part in text.split_inclusive(CUT) {
            masked.push_str(&self.without_beginning_at_end(part.to_owned()));
        }
        masked
    }

    /// Masks the beginning of a value at the end of a text that was cut there. What scripts write may have the same mark elsewhere.
    fn without_beginning_at_end(&self, mut text: String) -> String {
        if let Some(whole) = text.strip_suffix(CUT)
            && let Some(length) = self.begun_at_end(whole)
        {
            text.truncate(whole.len() - length);
            text.push_str(MASKED);
            text.push(CUT);
        }
        text
    }

    /// How much of a value stands at the end of a text, if the beginning of one does.
    fn begun_at_end(&self, text: &str) -> Option<usize> {
        self.0.iter().filter_map(|secret| begun_at_end(secret, text)).max()
    }
}

/// How long the longest beginning of a secret is, but not all of it, at the end of a text. It takes as many steps as the shorter one has bytes.
fn begun_at_end(secret: &str, text: &str) -> Option<usize> {
    let (most, of_secret) = (secret.len().min(text.len()), secret.as_bytes());
    if most < SHORTEST_SECRET {
        return None;
    }
    // For each beginning of the secret, how long the longest shorter one is that it ends with: there a search goes on that went wrong.
    let mut shorter = vec![0_usize; most];
    let next = |shorter: &[usize], mut length: usize, byte: u8| {
        while length > 0 && (length == most || of_secret[length] != byte) {
            length = shorter[length - 1];
        }
        length + usize::from(of_secret[length] == byte)
    };
    for at in 1..most {
        shorter[at] = next(&shorter, shorter[at - 1], of_secret[at]);
    }
    let end = &text.as_bytes()[text.len() - most..];
    let mut length = end.iter().fold(0, |length, byte| next(&shorter, length, *byte));
    while length >= SHORTEST_SECRET && (length == secret.len() || !secret.is_char_boundary(length)) {
        length = shorter[length - 1];
    }
    (length >= SHORTEST_SECRET).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(patterns: &[&str], text: &str) -> String {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        Mask::new(&patterns).unwrap().apply(&Secrets::default(), text.into())
    }

    #[test]
    fn a_star_is_anything_but_white_space_and_the_rest_stands_for_itself() {
        assert_eq!(masked(&["tok_*"], "a tok_abc123 b tok_\u{a0}c\ttok_ü,x\ny"), "a *** b ***\u{a0}c\t***\ny");
        assert_eq!(masked(&["*@corp"], "mail ann@corp now"), "mail *** now");
        assert_eq!(masked(&["a*z"], "abcz a z az"), "*** a z ***");
        assert_eq!(masked(&["Bearer *"], "Bearer abc def"), "*** def");
        assert_eq!(masked(&["key-[0-9]+", "a.c"], "key-17 key-[0-9]+ abc a.c"), "key-17 *** abc ***");
        assert_eq!(masked(&["(", "$1"], "( $1 )"), "*** *** )");
    }

    #[test]
    fn what_would_mask_everything_is_no_pattern() {
        for bad in ["*", "**", "", " * "] {
            let error = Mask::new(&[bad.to_owned()]).unwrap_err().to_string();
            assert!(error.contains("would mask everything"), "{bad:?}: {error}");
        }
    }

    #[test]
    fn regular_expressions_are_recognised() {
        for pattern in ["tok_.*", "key-[0-9]+", r"\d{4}", "^key", "key$", "a|b", "(?i)key"] {
            assert!(Mask::looks_like_a_regular_expression(pattern), "{pattern}");
        }
        for pattern in ["tok_*", "*@corp.example", "key=*", "sk-live-*", "Bearer *"] {
            assert!(!Mask::looks_like_a_regular_expression(pattern), "{pattern}");
        }
    }

    #[test]
    fn values_go_whole_and_as_they_are_written_elsewhere() {
        let secrets = Secrets::new(["hunter", "hunter22", "a\"b\u{7}", "ab"].map(ToOwned::to_owned).into_iter());
        let apply = |text: &str| Mask::default().apply(&secrets, text.into());
        assert_eq!(apply("hunter22 hunter ab"), "*** *** ab");
        assert_eq!(apply("a\"b\u{7} {\"k\":\"a\\\"b\\u0007\"} #{\"k\": \"a\\\"b\\u{7}\"}"), "*** {\"k\":\"***\"} #{\"k\": \"***\"}");
    }

    #[test]
    fn each_line_of_a_value_is_masked_and_one_that_ends_with_a_line_end() {
        let secrets = Secrets::new(["hunter22\n", "-----KEY-----\n  first line\r\nno\n"].map(ToOwned::to_owned).into_iter());
        let apply = |text: &str| Mask::default().apply(&secrets, text.into());
        assert_eq!(apply("is hunter22"), "is ***");
        assert_eq!(["-----KEY-----", "  first line", "no"].map(apply), ["***", "  ***", "no"]);
        let long: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let many = Secrets::new([long, "one-line\nsecond-line\n".to_owned()].into_iter());
        assert!(many.0.len() < MOST_LINES + 8);
        assert_eq!(Mask::default().apply(&many, "second-line".to_owned()), "***");
    }

    #[test]
    fn the_longest_beginning_of_a_secret_is_found_at_the_end_of_a_text() {
        for (secret, text, length) in [
            ("hunter22", "is hunter2", Some(7)),
            ("hunter22", "hun", Some(3)),
            ("hunter22", "hu", None),
            ("hunter22", "hunter2 ", None),
            ("abcabd", "xabcabcab", Some(5)),
            ("aaaa", "aaaaaaaa", Some(3)),
            ("aüaüb", "x aüaü", Some(6)),
            ("abü", "ab", None),
            ("abcü", "xabc", Some(3)),
            ("", "abc", None),
        ] {
            assert_eq!(begun_at_end(secret, text), length, "{secret} {text}");
        }
        let (secret, text) = ("a".repeat(110_000) + "b", "a".repeat(65_000));
        assert_eq!(begun_at_end(&secret, &text), Some(65_000));
    }

    #[test]
    fn an_error_is_masked_whole_and_where_it_was_cut() {
        let secrets = Secrets::new(std::iter::once("hunter22".to_owned()));
        let cut =
            JobError { data: Some(serde_json::json!(["a hunt…", "a…b hunt… c"]).into()), ..JobError::new(ErrorKind::Script, "") };
        let cut = Mask::default().of_error(&secrets, JobError { stack: vec!["of_hunter2…".into()], ..cut });
        assert_eq!((cut.stack[0].as_str(), cut.data.unwrap().as_str()), ("of_***…", r#"["a ***…","a…b hunt… c"]"#));
        let of = |message: &str| {
            let error = JobError { stack: vec!["of_hunter22".into()], ..JobError::new(ErrorKind::Script, message) };
            Mask::default().of_error(&secrets, error)
        };
        let error = of("no number: 'hunter22'");
        assert_eq!((error.message.as_str(), error.stack), ("no number: '***'", vec!["of_***".to_owned()]));
        assert_eq!(of("no number: hunter2…").message, "no number: ***…");
        assert_eq!(of("no number: hu…").message, "no number: hu…");
        assert_eq!(of("\"hunter2…\" is no time, nor is hunt…, nor this").message, "\"***…\" is no time, nor is ***…, nor this");
        assert_eq!(of(&"hunt…".repeat(33)).message, "***");
    }

    #[test]
    fn what_a_script_threw_is_masked_in_all_its_parts() {
        let secrets = Secrets::new(["hunter22", "4711"].map(ToOwned::to_owned).into_iter());
        let data = serde_json::json!({ "list": ["a hunter22", 4711, 5, null], "hunter22": { "ok": true } });
        let error = JobError { data: Some(data.into()), ..JobError::new(ErrorKind::Script, "x") };
        let masked = Mask::default().of_error(&secrets, error).data.unwrap();
        assert_eq!(masked.as_str(), r#"{"list":["a ***","***",5,null],"***":{"ok":true}}"#);
    }
}
