//! Whole numbers in the `args` of the jobs of a file that are beyond 64 bits: YAML is read with such a number as a fraction, rounded.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Options, Spanned};

use super::file::{Diagnostic, position};
use crate::model::{Beyond, excerpt};

/// How many characters of a number are repeated.
const MAX_SHOWN_CHARS: usize = 200;

/// What is wrong with the numbers of a file. Of a file that cannot be read it says nothing.
pub(super) fn rounded(text: &str, mut options: Options) -> Vec<Diagnostic> {
    // What is no number is for whoever reads the flow to refuse.
    options.reject_non_finite_typeless_float = false;
    let mut found = Vec::new();
    let walk = Walk { within: Within::Flow, path: String::new(), found: &mut found };
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |file| walk.deserialize(file));
    if read.is_err() {
        return Vec::new();
    }
    found.into_iter().filter_map(|number| number.fault(text)).collect()
}

/// A number that was read as a fraction, as a text, or as one beyond the integers of scripts.
struct Number {
    path: String,
    at: Location,
}

impl Number {
    /// What is wrong with it, if it is written as a whole one.
    fn fault(self, text: &str) -> Option<Diagnostic> {
        let span = self.at.span();
        let from = usize::try_from(span.byte_offset()?).ok()?;
        let to = from.checked_add(usize::try_from(span.byte_len()?).ok()?)?;
        let number = text.get(from..to)?.trim();
        let is_text = text[..from].split_whitespace().next_back().is_some_and(is_mark_of_texts);
        (!is_text && is_whole_beyond(number)).then(|| {
            let beyond = Beyond { path: self.path, number: excerpt(number, MAX_SHOWN_CHARS).into_owned() };
            Diagnostic::new(position(self.at), beyond.to_string())
        })
    }
}

/// Whether a value behind this is a text whatever it looks like: behind a tag, or as a block.
fn is_mark_of_texts(word: &str) -> bool {
    word.starts_with(['!', '|', '>'])
}

/// Whether this is written as a whole number, and beyond the integers of scripts.
fn is_whole_beyond(number: &str) -> bool {
    let (is_negative, digits) = match number.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let based = |prefix: [&str; 2]| prefix.iter().find_map(|prefix| digits.strip_prefix(prefix));
    let bases = [(["0x", "0X"], 16), (["0o", "0O"], 8), (["0b", "0B"], 2)];
    let (digits, base) = bases.into_iter().find_map(|(prefix, base)| Some((based(prefix)?, base))).unwrap_or((digits, 10));
    if !digits.starts_with(|first: char| first.is_digit(base)) || !digits.chars().all(|c| c == '_' || c.is_digit(base)) {
        return false;
    }
    // What 128 bits do not hold is beyond 64.
    i128::from_str_radix(&digits.replace('_', ""), base).map_or(true, |size| i64::try_from(if is_negative { -size } else { size }).is_err())
}

/// What a map in the file is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Flow,
    Jobs,
    Job,
}

/// Goes through the file down to the `args` of each job.
struct Walk<'n> {
    within: Within,
    /// Where it is.
    path: String,
    found: &'n mut Vec<Number>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let within = match (self.within, &*name) {
                (Within::Flow, "jobs") => Within::Jobs,
                (Within::Jobs, _) => Within::Job,
                (Within::Job, "args") => {
                    let args = map.next_value::<Numbers>()?.0;
                    let path = format!("{}.args", self.path);
                    self.found.extend(args.into_iter().map(|Number { path: below, at }| Number { path: format!("{path}{below}"), at }));
                    continue;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    continue;
                }
            };
            let path = if self.path.is_empty() { name } else { format!("{}.{name}", self.path) };
            map.next_value_seed(Walk { within, path, found: &mut *self.found })?;
        }
        Ok(())
    }
}

/// The numbers in a value, each with the way from there to it.
struct Numbers(Vec<Number>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Spanned { value, defined, .. } = Spanned::<YamlNode>::deserialize(deserializer)?;
        Ok(Self(match value {
            YamlNode::Inexact => vec![Number { path: String::new(), at: defined }],
            YamlNode::Other(below) => below,
        }))
    }
}

/// A value: a number that may not be what is written, or the numbers below it.
enum YamlNode {
    Inexact,
    Other(Vec<Number>),
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = YamlNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlNode, A::Error> {
        let mut numbers = Vec::new();
        while let Some((name, Numbers(below))) = map.next_entry::<String, Numbers>()? {
            let step = Beyond::member(&name);
            numbers.extend(below.into_iter().map(|Number { path, at }| Number { path: format!("{step}{path}"), at }));
        }
        Ok(YamlNode::Other(numbers))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<YamlNode, A::Error> {
        let (mut numbers, mut index) = (Vec::new(), 0);
        while let Some(Numbers(below)) = list.next_element::<Numbers>()? {
            let step = Beyond::index(index);
            numbers.extend(below.into_iter().map(|Number { path, at }| Number { path: format!("{step}{path}"), at }));
            index += 1;
        }
        Ok(YamlNode::Other(numbers))
    }

    fn visit_f64<E>(self, _: f64) -> Result<YamlNode, E> {
        Ok(YamlNode::Inexact)
    }

    fn visit_u64<E>(self, number: u64) -> Result<YamlNode, E> {
        Ok(if i64::try_from(number).is_ok() { YamlNode::Other(Vec::new()) } else { YamlNode::Inexact })
    }

    fn visit_i64<E>(self, _: i64) -> Result<YamlNode, E> {
        Ok(YamlNode::Other(Vec::new()))
    }

    fn visit_bool<E>(self, _: bool) -> Result<YamlNode, E> {
        Ok(YamlNode::Other(Vec::new()))
    }

    /// Some whole numbers that are too long are read as texts, such as those in other bases.
    fn visit_str<E>(self, text: &str) -> Result<YamlNode, E> {
        Ok(if is_whole_beyond(text) { YamlNode::Inexact } else { YamlNode::Other(Vec::new()) })
    }

    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::Other(Vec::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<String> {
        rounded(text, Options::default()).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_whole_number_beyond_64_bits_is_told_with_its_place() {
        let text =
            "jobs:\n  a:\n    script: args\n    args:\n      n: 99999999999999999999\n      list: [1, {odd key: -9223372036854775809}]\n";
        let found = told(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("5:10: jobs.a.args.n is 99999999999999999999, beyond the integers of scripts"), "{found:?}");
        assert!(found[1].contains(r#"jobs.a.args.list[1]["odd key"] is -9223372036854775809, beyond"#), "{found:?}");
        let json = r#"{"jobs": {"a": {"script": "1", "args": [9223372036854775808]}}}"#;
        assert!(told(json)[0].starts_with("1:41: jobs.a.args[0] is 9223372036854775808"), "{:?}", told(json));
        // Where it is written, not where it is meant.
        let anchor = "jobs:\n  a: {script: a, args: &big 18446744073709551616}\n  b:\n    script: b\n    args: [*big]\n";
        assert!(told(anchor).iter().all(|fault| fault.starts_with("2:")) && told(anchor).len() == 2, "{:?}", told(anchor));
    }

    #[test]
    fn whole_numbers_are_known_by_their_spelling() {
        for number in [
            "0xFFFFFFFFFFFFFFFFF",
            "0XFFFFFFFFFFFFFFFF",
            "-0x8000000000000001",
            "0o7777777777777777777777777",
            "0b1111111111111111111111111111111111111111111111111111111111111111",
            "99_999_999_999_999_999_999",
            "9_223_372_036_854_775_808",
        ] {
            let found = told(&format!("jobs:\n  a:\n    script: a\n    args: [1, {number}]\n"));
            assert!(matches!(&found[..], [one] if one.starts_with("4:15: ") && one.contains(number)), "{number}: {found:?}");
        }
    }

    #[test]
    fn what_is_exact_and_what_is_no_number_passes() {
        for value in [
            "9223372036854775807",
            "-9223372036854775808",
            "1.5",
            "1e30",
            "99999999999999999999.0",
            "\"99999999999999999999\"",
            "'99999999999999999999'",
            "!!str 99999999999999999999",
            "!!str 0xFFFFFFFFFFFFFFFFF",
            "\"0xFFFFFFFFFFFFFFFFF\"",
            "|-\n      0xFFFFFFFFFFFFFFFFF",
            "[\"a\", '99_999_999_999_999_999_999']",
            "0xFF",
            "1_000",
            "0000000000000000000000000000007",
            "0xFFFFFFFFFFFFFFFFFG",
            ".inf",
            "null",
            "[true, x, {}]",
        ] {
            let text = format!("jobs:\n  a:\n    script: a\n    env_vars: {{N: 99999999999999999999}}\n    args: {value}\n");
            assert_eq!(told(&text), Vec::<String>::new(), "{value}");
        }
        assert_eq!(told("jobs: [1"), Vec::<String>::new());
    }
}
