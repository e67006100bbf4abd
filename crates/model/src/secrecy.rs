//! The rules for masking, in logs and in answers: the variables that are secret, and the parts of texts that are
//! masked.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

/// The replacement for a masked value.
pub const MASKED: &str = "***";
/// Shorter values are not masked: they are no secrets, and masking them would make logs unreadable.
pub(super) const SHORTEST_SECRET: usize = 3;
/// Shorter values are masked only as whole words: `prod`, but not within `production`.
pub(super) const LONG_SECRET: usize = 8;

/// Characters beyond ASCII that count as letters: those of writing systems that separate words by spaces only. Any
/// other character ends a word, so a value next to it is masked. `masks.lua` of the store has the same list.
const LETTERS: [RangeInclusive<char>; 15] = [
    'ª'..='ª',
    'µ'..='µ',
    'º'..='º',
    'À'..='Ö',
    'Ø'..='ö',
    'ø'..='ʯ',
    '\u{386}'..='\u{386}',
    '\u{388}'..='\u{38a}',
    '\u{38c}'..='\u{38c}',
    '\u{38e}'..='\u{3a1}',
    '\u{3a3}'..='\u{3f5}',
    '\u{3f7}'..='\u{3ff}',
    '\u{400}'..='\u{481}',
    '\u{48a}'..='\u{52f}',
    '\u{1e00}'..='\u{1eff}',
];

/// The variable that lists the names of variables that are no secrets, separated by commas or spaces. It is stored and
/// sent with the other variables.
pub const PLAIN: &str = "HERO_PLAIN";

/// The names of the variables that are no secrets.
pub(super) struct Plain<'v>(BTreeSet<&'v str>);

impl<'v> Plain<'v> {
    pub(super) fn of(variables: &'v BTreeMap<String, String>) -> Self {
        let named = variables.get(PLAIN).into_iter().flat_map(|names| names.split([',', ' ']));
        Self(named.chain([PLAIN]).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains(name)
    }
}

/// The values that are secret.
pub(super) fn secrets(variables: &BTreeMap<String, String>) -> impl Iterator<Item = &String> {
    let plain = Plain::of(variables);
    variables.iter().filter(move |(name, _)| !plain.has(name)).map(|(_, value)| value)
}

/// Whether a part of a text is a whole word: no letter or digit at its ends has another one next to it outside.
pub(super) fn is_word(text: &str, part: Range<usize>) -> bool {
    let (last, behind) = (text[..part.end].chars().next_back(), text[part.end..].chars().next());
    is_word_from(text, part.start) && !(last.is_some_and(is_of_word) && behind.is_some_and(is_of_word))
}

/// Whether a word can begin at `start`: no letter or digit there has another one before it.
pub(super) fn is_word_from(text: &str, start: usize) -> bool {
    let (before, first) = (text[..start].chars().next_back(), text[start..].chars().next());
    !(before.is_some_and(is_of_word) && first.is_some_and(is_of_word))
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || LETTERS.iter().any(|letters| letters.contains(&letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_letters_and_digits_keeps_a_value_from_being_a_word() {
        for letter in LETTERS.into_iter().flatten() {
            assert!(letter.is_alphanumeric(), "{letter:?}");
        }
        for sign in "“”„‘’«»‹›…–—·×÷¿¡§€°©  ，。、「」😀".chars() {
            assert!(!is_of_word(sign), "{sign:?}");
        }
    }
}
