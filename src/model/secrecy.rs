//! What of a text is a secret, wherever it is masked: in logs, in answers.

use std::ops::Range;

/// What stands in the place of a masked value.
pub const MASKED: &str = "***";
/// Values shorter than this are no secrets, and masking them would make logs unreadable.
pub const SHORTEST_SECRET: usize = 3;
/// Values shorter than this are masked where they stand as words of their own: `prod`, but not in `production`.
pub const LONG_SECRET: usize = 8;

/// Whether no letter or digit stands next to one of this part of a text.
pub fn is_word(text: &str, part: Range<usize>) -> bool {
    let (last, behind) = (text[..part.end].chars().next_back(), text[part.end..].chars().next());
    is_word_from(text, part.start) && !(last.is_some_and(is_of_word) && behind.is_some_and(is_of_word))
}

/// Whether none stands before one that begins there.
pub fn is_word_from(text: &str, start: usize) -> bool {
    let (before, first) = (text[..start].chars().next_back(), text[start..].chars().next());
    !(before.is_some_and(is_of_word) && first.is_some_and(is_of_word))
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}
