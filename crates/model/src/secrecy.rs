//! What of an environment is a secret, and what of a text, wherever it is masked: in logs, in answers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

/// What stands in the place of a masked value.
pub const MASKED: &str = "***";
/// Values shorter than this are no secrets, and masking them would make logs unreadable.
pub(super) const SHORTEST_SECRET: usize = 3;
/// Values shorter than this are masked where they stand as words of their own: `prod`, but not in `production`.
pub(super) const LONG_SECRET: usize = 8;

/// Characters beyond ASCII that count as letters: those of scripts that put spaces between words, and nothing else between. What is not here ends a word, so that
/// a value beside it is masked. `masks.lua` of the store has the same.
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

/// The variable that names those that are no secrets, with commas or spaces between. It travels with them wherever a job does.
pub const PLAIN: &str = "HERO_PLAIN";

/// Names of the variables that are no secrets.
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

/// Whether no letter or digit stands next to one of this part of a text.
pub(super) fn is_word(text: &str, part: Range<usize>) -> bool {
    let (last, behind) = (text[..part.end].chars().next_back(), text[part.end..].chars().next());
    is_word_from(text, part.start) && !(last.is_some_and(is_of_word) && behind.is_some_and(is_of_word))
}

/// Whether none stands before one that begins there.
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
