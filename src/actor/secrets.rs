use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};

use crate::model::{LONG_SECRET, MASKED, SHORTEST_SECRET, is_word, is_word_from};

/// Values longer than this are looked for one by one: an automaton takes some thirty times the bytes of what it finds.
const INDEXED: usize = 256;
/// Stands where a message, or a text in it, was cut.
const CUT: char = '…';
/// In how many places a message may be cut.
const MOST_CUTS: usize = 32;
/// Of how many lines values are known one by one.
const MOST_LINES: usize = 500;

/// Secret values of a job's environment.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// In their order, those that are masked everywhere and those that are masked as words.
    long: Vec<String>,
    short: Vec<String>,
    /// How many bytes all have.
    bytes: usize,
    /// What finds those that are not very long. Most jobs never need it.
    index: OnceLock<Option<AhoCorasick>>,
}

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
        secrets.sort_unstable();
        secrets.dedup();
        let bytes = secrets.iter().map(String::len).sum();
        let (long, short) = secrets.into_iter().partition(|secret| secret.len() >= LONG_SECRET);
        Self(Arc::new(Inner { long, short, bytes, index: OnceLock::new() }))
    }

    /// About how many bytes have to be looked at before the first text is.
    pub(super) fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// A text without them.
    pub(super) fn masked(&self, text: String) -> String {
        let found = self.found_in(&text);
        if found.is_empty() {
            return text;
        }
        let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
        for range in found {
            masked.push_str(&text[end..range.start]);
            masked.push_str(MASKED);
            end = range.end;
        }
        masked.push_str(&text[end..]);
        masked
    }

    /// Where they stand, in order. What of them overlaps is one range.
    fn found_in(&self, text: &str) -> Vec<Range<usize>> {
        let Inner { long, short, index, .. } = &*self.0;
        let is_indexed = |secret: &&String| secret.len() <= INDEXED;
        let indexed = || long.iter().chain(short).filter(is_indexed);
        let index = index.get_or_init(|| {
            let kind = AhoCorasick::builder().kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(indexed());
            // It has far less than the most that there may be.
            kind.ok().filter(|found| found.patterns_len() > 0)
        });
        // Overlapping ones are put together as they are found: there may be very many.
        let mut found: Vec<Range<usize>> = Vec::new();
        for one in index.iter().flat_map(|index| index.find_overlapping_iter(text)) {
            if one.len() >= LONG_SECRET || is_word(text, one.range()) {
                let mut range = one.range();
                while let Some(before) = found.pop_if(|before| before.end > range.start) {
                    range = before.start.min(range.start)..before.end.max(range.end);
                }
                found.push(range);
            }
        }
        let very_long = long.iter().filter(|secret| secret.len() > INDEXED && secret.len() <= text.len());
        let very_long: Vec<Range<usize>> =
            very_long.flat_map(|secret| text.match_indices(secret.as_str()).map(|(at, secret)| at..at + secret.len())).collect();
        if very_long.is_empty() { found } else { joined(found.into_iter().chain(very_long).collect()) }
    }

    /// Masks the beginnings of values wherever a text was cut.
    pub(super) fn without_beginning_at_cut(&self, text: String) -> String {
        let cuts = text.matches(CUT).count();
        if cuts == 0 || self.0.bytes == 0 {
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
    pub(super) fn without_beginning_at_end(&self, mut text: String) -> String {
        if let Some(whole) = text.strip_suffix(CUT)
            && let Some(length) = self.begun_at_end(whole)
        {
            text.truncate(whole.len() - length);
            text.push_str(MASKED);
            text.push(CUT);
        }
        text
    }

    /// How long the longest beginning of a value is, but not all of it, at the end of a text, if the beginning of one stands there.
    fn begun_at_end(&self, text: &str) -> Option<usize> {
        let Inner { long, short, .. } = &*self.0;
        let longest = long.iter().chain(short).map(String::len).max()?;
        let mut from = text.len().saturating_sub(longest);
        while !text.is_char_boundary(from) {
            from += 1;
        }
        let starts = text[from..].char_indices().map(|(at, _)| from + at).take_while(|at| text.len() - at >= SHORTEST_SECRET);
        let is_begun = |at: &usize| begins_one(long, &text[*at..]) || (begins_one(short, &text[*at..]) && is_word_from(text, *at));
        starts.into_iter().find(is_begun).map(|at| text.len() - at)
    }
}

/// Whether a text is the beginning of one of these, which are in order, and less than all of it.
fn begins_one(secrets: &[String], beginning: &str) -> bool {
    let at = secrets.partition_point(|secret| secret.as_str() <= beginning);
    secrets.get(at).is_some_and(|secret| secret.starts_with(beginning))
}

/// Ranges in order, those that overlap as one.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| range.start < last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked<const N: usize>(values: [&str; N], text: &str) -> String {
        Secrets::new(values.map(ToOwned::to_owned).into_iter()).masked(text.to_owned())
    }

    #[test]
    fn values_go_whole_and_as_they_are_written_elsewhere() {
        let values = ["hunter", "hunter22", "a\"b\u{7}", "ab"];
        assert_eq!(masked(values, "hunter22 hunter ab"), "*** *** ab");
        assert_eq!(
            masked(values, "a\"b\u{7} {\"k\":\"a\\\"b\\u0007\"} #{\"k\": \"a\\\"b\\u{7}\"}"),
            "*** {\"k\":\"***\"} #{\"k\": \"***\"}"
        );
    }

    #[test]
    fn a_short_value_is_masked_as_a_word_and_a_long_one_everywhere() {
        for (value, text, told) in [
            ("prod", "in production, prod and prod_2 or (prod).prod", "in production, *** and prod_2 or (***).***"),
            ("4711", "14711 4711 47110 4711ü", "14711 *** 47110 4711ü"),
            ("-ab-", "x-ab-y", "x***y"),
            ("hunter22", "xhunter22y _hunter22_", "x***y _***_"),
            ("ab", "ab", "ab"),
        ] {
            assert_eq!(masked([value], text), told, "{value}");
        }
    }

    #[test]
    fn values_that_overlap_are_masked_together() {
        assert_eq!(masked(["abcdefgh", "efghijkl", "ghijklmnop"], "x abcdefghijklmnop y"), "x *** y");
        assert_eq!(masked(["aaaaaaaa", "aaaaaaaaaaaa"], &format!("b{}b", "a".repeat(1000))), "b***b");
        let long = "0123456789".repeat(40);
        assert_eq!(masked([long.as_str(), "23456789 end"], &format!("x{long} end")), "x***");
    }

    #[test]
    fn each_line_of_a_value_is_masked_and_one_that_ends_with_a_line_end() {
        let apply = |text: &str| masked(["hunter22\n", "-----KEY-----\n  first line\r\nno\n"], text);
        assert_eq!(apply("is hunter22"), "is ***");
        assert_eq!(["-----KEY-----", "  first line", "no"].map(apply), ["***", "  ***", "no"]);
        let long: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let many = Secrets::new([long, "one-line\nsecond-line\n".to_owned()].into_iter());
        assert!(many.0.long.len() + many.0.short.len() < MOST_LINES + 8);
        assert_eq!(many.masked("second-line".to_owned()), "***");
    }

    #[test]
    fn the_longest_beginning_of_a_secret_is_found_at_the_end_of_a_text() {
        for (secret, text, length) in [
            ("hunter22", "is hunter2", Some(7)),
            ("hunter22", "hun", Some(3)),
            ("hunter22", "hu", None),
            ("hunter22", "hunter2 ", None),
            ("abcabdabcabe", "xabcabcab", Some(5)),
            ("aaaaaaaaa", "aaaaaaaaa", Some(8)),
            ("aüaüb", "x aüaü", Some(6)),
            ("abü", "ab", None),
            ("abcü", "x abc", Some(3)),
            ("abcü", "xabc", None),
            ("", "abc", None),
        ] {
            let secrets = Secrets::new(std::iter::once(secret.to_owned()));
            assert_eq!(secrets.begun_at_end(text), length, "{secret} {text}");
        }
        let (secret, text) = ("a".repeat(110_000) + "b", "a".repeat(65_000));
        assert_eq!(Secrets::new(std::iter::once(secret)).begun_at_end(&text), Some(65_000));
    }
}
