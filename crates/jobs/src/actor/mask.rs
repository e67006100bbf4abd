use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::Error;
use hero_engine::LogRecord;
use hero_model::{ErrorKind, JobError, Json, LogLevel, MASKED, Secrets};
use hero_service::away;

/// Patterns whose matches never reach a log or the text of an error.
///
/// In a pattern, `*` matches any number of characters except white space. Every other character matches itself.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    patterns: Arc<[Regex]>,
}

/// The regular expression for `*`.
const ANYTHING: &str = r"\S*";

impl Mask {
    /// Compiles patterns to a mask.
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

    /// True if a pattern looks like a regular expression, which it is not.
    pub fn looks_like_a_regular_expression(pattern: &str) -> bool {
        let has = |words: &[&str]| words.iter().any(|word| pattern.contains(word));
        let class = pattern.split_once('[').is_some_and(|(_, rest)| rest.contains(']'));
        class || has(&[".*", ".+", "\\", "(?", "|"]) || pattern.starts_with('^') || pattern.ends_with('$') || pattern.ends_with('+')
    }

    pub(super) fn apply(&self, secrets: &Secrets, text: String) -> String {
        let mut text = secrets.masked(text);
        for pattern in self.patterns.iter() {
            if pattern.is_match(&text) {
                text = pattern.replace_all(&text, MASKED).into_owned();
            }
        }
        text
    }

    /// Masks an error before anybody else gets it. Its text may repeat an argument of the script, such as a value that
    /// is not a number.
    pub(super) fn of_error(&self, secrets: &Secrets, error: JobError) -> JobError {
        // Hero wrote the text of these errors, and other programs compare it.
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

    /// Masks a JSON value. A number that must be masked becomes a string.
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

/// Removes the secrets of a job and the matches of patterns.
#[derive(Debug, Clone)]
pub(super) struct Masker {
    pub(super) mask: Mask,
    pub(super) secrets: Secrets,
}

impl Masker {
    /// Masks a text, also where the text was cut.
    pub(super) async fn text(&self, text: String) -> String {
        let without = |this: &Self, text| this.secrets.without_beginning_at_cut(this.mask.apply(&this.secrets, text));
        self.away(text.len(), text, without).await.unwrap_or_else(|| MASKED.to_owned())
    }

    /// Masks lines of a log.
    pub(super) async fn lines(&self, records: Vec<LogRecord>) -> Vec<(LogLevel, String)> {
        let bytes = records.iter().map(|record| record.text.len()).sum();
        let without = |this: &Self, records: Vec<LogRecord>| {
            records.into_iter().map(|record| (record.level, this.mask.apply(&this.secrets, record.text))).collect()
        };
        self.away(bytes, records, without).await.unwrap_or_else(|| vec![(LogLevel::Warn, MASKED.to_owned())])
    }

    /// Masks an error before anybody else gets it.
    pub(super) async fn error(&self, error: JobError) -> JobError {
        let kind = error.kind;
        let data = error.data.as_ref().map_or(0, |data| data.as_str().len());
        let bytes = error.message.len() + data + error.stack.iter().map(String::len).sum::<usize>();
        let without = |this: &Self, error| this.mask.of_error(&this.secrets, error);
        self.away(bytes, error, without).await.unwrap_or_else(|| JobError::new(kind, MASKED))
    }

    /// Runs slow work away from the threads that serve connections. Returns `None` if that failed.
    async fn away<T: Send + 'static, U: Send + 'static>(
        &self,
        bytes: usize,
        what: T,
        without: impl FnOnce(&Self, T) -> U + Send + 'static,
    ) -> Option<U> {
        let this = self.clone();
        away(bytes + self.secrets.bytes(), move || without(&this, what)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hero_service::MAX_IN_PLACE_BYTES;

    fn known(values: &[&str]) -> Secrets {
        Secrets::of(&values.iter().enumerate().map(|(at, value)| (at.to_string(), (*value).to_owned())).collect())
    }

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
    fn a_pattern_that_masks_everything_is_refused() {
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

    #[tokio::test]
    async fn long_texts_are_masked_on_another_thread() {
        let masker = Masker { mask: Mask::default(), secrets: Secrets::default() };
        let here = std::thread::current().id();
        let of = async |bytes| masker.away(bytes, (), |_, ()| std::thread::current().id()).await.unwrap();
        assert!(of(MAX_IN_PLACE_BYTES).await == here && of(MAX_IN_PLACE_BYTES + 1).await != here);
        let secrets = known(&[&"x".repeat(MAX_IN_PLACE_BYTES)]);
        let many = Masker { secrets, ..masker.clone() };
        assert_ne!(many.away(1, (), |_, ()| std::thread::current().id()).await.unwrap(), here);
    }

    #[test]
    fn an_error_is_masked_whole_and_where_it_was_cut() {
        let secrets = known(&["hunter22"]);
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
        let secrets = known(&["hunter22", "4711"]);
        let data = serde_json::json!({ "list": ["a hunter22", 4711, 5, null], "hunter22": { "ok": true } });
        let error = JobError { data: Some(data.into()), ..JobError::new(ErrorKind::Script, "x") };
        let masked = Mask::default().of_error(&secrets, error).data.unwrap();
        assert_eq!(masked.as_str(), r#"{"list":["a ***","***",5,null],"***":{"ok":true}}"#);
    }
}
