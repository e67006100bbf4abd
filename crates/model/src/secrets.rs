//! The secrets of a job, and how they are masked: in its log, its errors, its progress, and in answers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::noncontiguous::NFA;

use super::secrecy::{LONG_SECRET, MASKED, SHORTEST_SECRET, is_word, is_word_from, secrets};

/// Longer values are searched for one by one, because an automaton takes about thirty times the bytes of its values.
const MAX_INDEXED_BYTES: usize = 256;
/// Maximum number of matches that all states of the automaton have together. With more, all values are searched for one
/// by one.
const MOST_ENDS: usize = 1 << 22;
/// The mark where a message, or a text in it, was cut.
const CUT: char = '…';
/// Maximum number of marks in a message. A message with more is masked as a whole.
const MOST_CUTS: usize = 32;
/// Maximum number of lines of values that are also masked by themselves.
const MOST_LINES: usize = 500;

/// Secret values of a job's environment.
#[derive(Debug, Clone, Default)]
pub struct Secrets(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Sorted: values that are masked everywhere (`long`), and values that are masked as whole words (`short`).
    long: Vec<String>,
    short: Vec<String>,
    /// The number of bytes of all values.
    bytes: usize,
    /// Finds the values. It is built on first use, because most jobs never need it.
    index: OnceLock<Index>,
}

impl Secrets {
    /// Collects the secrets of these variables, also in the forms in which logs may show them: as written within a map,
    /// an array or JSON, and each line of a value with several lines.
    pub fn of(variables: &BTreeMap<String, String>) -> Self {
        Self::within(secrets(variables), usize::MAX)
    }

    /// Collects those of these values that are at most `longest` bytes long.
    pub(super) fn within<'v>(values: impl Iterator<Item = &'v String>, longest: usize) -> Self {
        let written = |value: String| {
            let inner = |quoted: String| quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned();
            let is_plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
            let forms = (!is_plain).then(|| [inner(format!("{value:?}")), inner(serde_json::Value::from(value.as_str()).to_string())]);
            std::iter::once(value).chain(forms.into_iter().flatten())
        };
        let is_sought = |value: &&str| (SHORTEST_SECRET..=longest).contains(&value.len());
        let values: Vec<&str> = values.map(String::as_str).collect();
        let is_part = |value: &&&str| value.contains(['\n', '\r']) || value.trim().len() < value.len();
        let mut of_values: Vec<_> = values.iter().filter(is_part).map(|value| value.lines().map(str::trim).filter(is_sought)).collect();
        let mut lines: Vec<&str> = Vec::new();
        // One line of each value in turn, so that a long value leaves room for the others.
        while lines.len() < MOST_LINES && !of_values.is_empty() {
            of_values.retain_mut(|of_value| of_value.next().map(|line| lines.push(line)).is_some());
        }
        let values = values.iter().copied().filter(is_sought).chain(lines);
        let mut secrets: Vec<String> = values.map(ToOwned::to_owned).flat_map(written).filter(|form| form.len() <= longest).collect();
        secrets.sort_unstable();
        secrets.dedup();
        let bytes = secrets.iter().map(String::len).sum();
        let (long, short) = secrets.into_iter().partition(|secret| secret.len() >= LONG_SECRET);
        Self(Arc::new(Inner { long, short, bytes, index: OnceLock::new() }))
    }

    /// The approximate number of bytes to process before the first text can be masked.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Returns a text with the secrets masked.
    pub fn masked(&self, text: String) -> String {
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

    /// Returns the positions of the secrets in a text, in order. Secrets that overlap or touch share one range.
    fn found_in(&self, text: &str) -> Vec<Range<usize>> {
        let Inner { long, short, index, .. } = &*self.0;
        let index = index.get_or_init(|| Index::of(long.iter().chain(short)));
        let mut found = index.found_in(text);
        let one_by_one = long.iter().chain(short).filter(|secret| !index.has(secret) && secret.len() <= text.len());
        let before = found.len();
        for secret in one_by_one {
            found.extend(occurrences(secret, text));
        }
        if found.len() > before { joined(found) } else { found }
    }

    /// Masks the beginnings of values wherever a text was cut.
    pub fn without_beginning_at_cut(&self, text: String) -> String {
        let cuts = text.matches(CUT).count();
        if cuts == 0 || self.0.bytes == 0 {
            return text;
        }
        // Our own messages are cut in one or two places. More marks come from a script, and checking each would take
        // long.
        if cuts > MOST_CUTS {
            return MASKED.to_owned();
        }
        let mut masked = String::with_capacity(text.len());
        for part in text.split_inclusive(CUT) {
            masked.push_str(&self.without_beginning_at_end(part.to_owned()));
        }
        masked
    }

    /// Masks the beginning of a value at the end of a text that was cut there. Scripts may write the same mark
    /// elsewhere.
    pub fn without_beginning_at_end(&self, mut text: String) -> String {
        if let Some(whole) = text.strip_suffix(CUT)
            && let Some(length) = self.begun_at_end(whole)
        {
            text.truncate(whole.len() - length);
            text.push_str(MASKED);
            text.push(CUT);
        }
        text
    }

    /// Returns the length of the longest proper prefix of a value at the end of a text, if there is one.
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

/// Whether a text is a proper prefix of one of these sorted values.
fn begins_one(secrets: &[String], beginning: &str) -> bool {
    let at = secrets.partition_point(|secret| secret.as_str() <= beginning);
    secrets.get(at).is_some_and(|secret| secret.starts_with(beginning))
}

/// Finds all values of at most [`MAX_INDEXED_BYTES`] bytes in one pass.
#[derive(Debug, Default)]
struct Index {
    automaton: Option<NFA>,
}

impl Index {
    fn of<'s>(secrets: impl Iterator<Item = &'s String>) -> Self {
        let indexed: Vec<&String> = secrets.filter(|secret| secret.len() <= MAX_INDEXED_BYTES).collect();
        let (bytes, mut lengths) = (indexed.iter().map(|secret| secret.len()).sum::<usize>(), [false; MAX_INDEXED_BYTES + 1]);
        indexed.iter().for_each(|secret| lengths[secret.len()] = true);
        // Where one value ends, values with the same ending may end as well, one of each length.
        let may_end = bytes.saturating_mul(lengths.iter().filter(|is_one| **is_one).count());
        let is_made = !indexed.is_empty() && may_end <= MOST_ENDS;
        Self { automaton: is_made.then(|| NFA::new(indexed).ok()).flatten() }
    }

    /// Whether the index finds a value.
    fn has(&self, secret: &str) -> bool {
        self.automaton.is_some() && secret.len() <= MAX_INDEXED_BYTES
    }

    /// Returns the positions of the indexed values in a text.
    fn found_in(&self, text: &str) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = Vec::new();
        let Some((automaton, mut state)) = self.automaton.as_ref().and_then(|all| Some((all, all.start_state(Anchored::No).ok()?))) else {
            return found;
        };
        for (at, byte) in text.bytes().enumerate() {
            state = automaton.next_state(Anchored::No, state, byte);
            if !automaton.is_match(state) {
                continue;
            }
            let range_of = |nth| at + 1 - automaton.pattern_len(automaton.match_pattern(state, nth))..at + 1;
            // The longest value that ends here comes first. If it is long, it covers all others. Few are short.
            let longest = range_of(0);
            let hidden = if longest.len() >= LONG_SECRET {
                Some(longest)
            } else {
                (0..automaton.match_len(state)).map(range_of).find(|range| is_word(text, range.clone()))
            };
            if let Some(range) = hidden {
                put(&mut found, range);
            }
        }
        found
    }
}

/// Adds a range that does not end before the last one. Ranges are merged as they are found, because there may be very
/// many.
fn put(found: &mut Vec<Range<usize>>, mut range: Range<usize>) {
    while let Some(before) = found.pop_if(|before| before.end >= range.start) {
        range = before.start.min(range.start)..before.end.max(range.end);
    }
    found.push(range);
}

/// Returns the positions of a value in a text, also where it overlaps itself. For each prefix of the value, `borders`
/// has the length of the longest shorter prefix that is also its suffix (Knuth, Morris and Pratt), so one pass is
/// enough for any text.
fn occurrences(secret: &str, text: &str) -> Vec<Range<usize>> {
    let bytes = secret.as_bytes();
    let longer = |borders: &[usize], mut matched: usize, byte: u8| {
        while matched > 0 && bytes[matched] != byte {
            matched = borders[matched - 1];
        }
        matched + usize::from(bytes[matched] == byte)
    };
    let mut borders = vec![0; bytes.len()];
    for at in 1..bytes.len() {
        borders[at] = longer(&borders, borders[at - 1], bytes[at]);
    }
    let (mut found, mut matched) = (Vec::new(), 0);
    for (at, byte) in text.bytes().enumerate() {
        if matched == bytes.len() {
            matched = borders[matched - 1];
        }
        matched = longer(&borders, matched, byte);
        let range = (at + 1).saturating_sub(bytes.len())..at + 1;
        if matched == bytes.len() && (bytes.len() >= LONG_SECRET || is_word(text, range.clone())) {
            put(&mut found, range);
        }
    }
    found
}

/// Sorts ranges, and merges those that overlap or touch.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_unstable_by_key(|range| range.end);
    let mut joined = Vec::new();
    ranges.into_iter().for_each(|range| put(&mut joined, range));
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked<const N: usize>(values: [&str; N], text: &str) -> String {
        of(&values).masked(text.to_owned())
    }

    fn of(values: &[&str]) -> Secrets {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        Secrets::within(values.iter(), usize::MAX)
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
        // A value that overlaps itself is masked to its end, whether an automaton finds it or not.
        for length in [MAX_INDEXED_BYTES, MAX_INDEXED_BYTES + 1] {
            assert_eq!(masked([&*"a".repeat(length)], &format!("b{}b", "a".repeat(length + length / 2))), "b***b");
        }
        assert_eq!(masked(["abcdefgh", "ijklmnop"], "xabcdefghijklmnopx"), "x***x");
    }

    #[test]
    fn each_line_of_a_value_is_masked_and_one_that_ends_with_a_line_end() {
        let apply = |text: &str| masked(["hunter22\n", "-----KEY-----\n  first line\r\nno\n"], text);
        assert_eq!(apply("is hunter22"), "is ***");
        assert_eq!(["-----KEY-----", "  first line", "no"].map(apply), ["***", "  ***", "no"]);
        let long: String = (0..10_000).map(|line| format!("line {line}\n")).collect();
        let many = of(&[&long, "one-line\nsecond-line\n"]);
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
            assert_eq!(of(&[secret]).begun_at_end(text), length, "{secret} {text}");
        }
        let (secret, text) = ("a".repeat(110_000) + "b", "a".repeat(65_000));
        assert_eq!(of(&[&secret]).begun_at_end(&text), Some(65_000));
    }

    #[test]
    fn values_that_end_as_very_many_others_do_are_found_without_an_automaton_of_any_size() {
        let ends: Vec<String> = (SHORTEST_SECRET..=MAX_INDEXED_BYTES).map(|length| "a".repeat(length)).collect();
        let others: Vec<String> = (0..MOST_LINES).map(|at| format!("{at:03}{}", "a".repeat(MAX_INDEXED_BYTES - 3))).collect();
        let all: Vec<&str> = ends.iter().chain(&others).map(String::as_str).collect();
        let hostile = of(&all);
        assert_eq!(hostile.masked(format!("b {} c aaa d_aaa {}", "a".repeat(500), others[7])), "b *** c *** d_aaa ***");
        assert!(hostile.0.index.get().is_some_and(|index| index.automaton.is_none()));
        assert!(of(&all[..20]).0.index.get_or_init(|| Index::of(ends[..20].iter())).automaton.is_some());
    }
}
