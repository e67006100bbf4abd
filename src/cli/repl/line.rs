//! Analyses a line before it is evaluated: whether it is complete, and which names can complete it.

use std::iter::Peekable;
use std::str::Chars;

use rustyline::Helper;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};

use crate::engine::is_heroscript;

/// The maximum number of expressions in texts for which a line is checked for completeness. The compiler reports the
/// rest.
const MAX_EXPRESSIONS: usize = 64;

/// The knowledge of the line editor about the language.
pub(super) struct LineHelper {
    names: Vec<String>,
}

impl LineHelper {
    /// Returns a helper that completes these names.
    pub(super) const fn new(names: Vec<String>) -> Self {
        Self { names }
    }
}

impl Helper for LineHelper {}
impl Highlighter for LineHelper {}
impl Hinter for LineHelper {
    type Hint = String;
}

impl Validator for LineHelper {
    /// An open bracket needs another line.
    fn validate(&self, line: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let complete = is_complete(line.input());
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for LineHelper {
    type Candidate = String;

    fn complete(&self, line: &str, at: usize, _: &rustyline::Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completions(&self.names, &line[..at]))
    }
}

/// Returns the start of the name before the cursor, and the functions whose names begin with it.
fn completions(names: &[String], before: &str) -> (usize, Vec<String>) {
    if let Some(action) = before.strip_prefix("!!").filter(|action| action.chars().all(|letter| is_of_name(letter) || letter == '.')) {
        let names = names.iter().map(|name| name.replace("::", "."));
        return (2, names.filter(|name| name.starts_with(action)).collect());
    }
    let begin = |text: &str| text.trim_end_matches(is_of_name).len();
    let bare = begin(before);
    let start = before[..bare].strip_suffix("::").map_or(bare, begin);
    let word = &before[start..];
    (start, names.iter().filter(|name| !word.is_empty() && name.starts_with(word)).cloned().collect())
}

/// Whether names may contain this character.
pub(super) const fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Whether all brackets and texts of a line are closed, as far as visible without compiling.
pub(super) fn is_complete(line: &str) -> bool {
    if is_heroscript(line) {
        return has_closed_quotes(line);
    }
    line.matches("${").count() > MAX_EXPRESSIONS || is_closed(&mut line.chars().peekable(), false)
}

/// Whether all texts of an action are closed. A quote within a word opens no text: it is an error that the parser
/// reports.
fn has_closed_quotes(line: &str) -> bool {
    let (mut open, mut last) = (None, ' ');
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, open) {
            ('\'' | '"', None) if last.is_whitespace() || matches!(last, ':' | ',' | '[') => open = Some(letter),
            ('/', None) if last.is_whitespace() && letters.peek() == Some(&'/') => {
                while letters.next_if(|letter| *letter != '\n').is_some() {}
            }
            // A doubled quote is part of the text.
            (_, Some(quote)) if letter == quote && letters.next_if_eq(&quote).is_none() => open = None,
            _ => {}
        }
        last = letter;
    }
    open.is_none()
}

/// Moves to the end, or past the bracket that ends an expression in a text. Returns whether everything was closed
/// there.
fn is_closed(letters: &mut Peekable<Chars<'_>>, in_text: bool) -> bool {
    let mut open = 0_i64;
    while let Some(letter) = letters.next() {
        match letter {
            '}' if open == 0 && in_text => return true,
            '(' | '[' | '{' => open += 1,
            ')' | ']' | '}' => open -= 1,
            '/' if letters.peek() == Some(&'/') => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '/' if letters.peek() == Some(&'*') => {
                letters.next();
                let mut last = None;
                for next in letters.by_ref() {
                    if (last, next) == (Some('*'), '/') {
                        break;
                    }
                    last = Some(next);
                }
            }
            // A single character. The compiler reports longer ones.
            '\'' => {
                if letters.next() == Some('\\') {
                    letters.next();
                }
                letters.next_if_eq(&'\'');
            }
            '"' => skip_string(letters),
            '`' => loop {
                match letters.next() {
                    Some('`') => break,
                    Some('$') if letters.next_if_eq(&'{').is_some() => {
                        if !is_closed(letters, true) {
                            return false;
                        }
                    }
                    Some(_) => {}
                    None => return false,
                }
            },
            _ => {}
        }
    }
    open <= 0 && !in_text
}

/// Moves past the end of a double-quoted text. An unclosed one ends at the end of its line, which the compiler reports.
fn skip_string(letters: &mut Peekable<Chars<'_>>) {
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_bracket_or_backtick_wants_another_line() {
        for line in [
            "1 + 1",
            "f(1)",
            "{ }",
            "\"(\"",
            "`(`",
            "// (",
            "1 // `\n + 2",
            "`${f(`)`)}`",
            "'{'",
            "'\\''",
            "1 /* ( */",
            "!!join array:['(']",
            "!!a.b text:'{'",
            "\"a\\\"(\"",
            ")",
            "\"open",
            "!!a.b it's",
            "!!a.b 'it''s' \"it's\" // it's '",
            "!!a.b 'two\nlines' c:'d'",
            "!!a.b ''",
        ] {
            assert!(is_complete(line), "{line}");
        }
        for line in [
            "f(",
            "fn f() {",
            "[1,",
            "`open",
            "{ // }",
            "`a` + `b",
            "`${",
            "`${f(`x`",
            "\"a\" + (\"b\"",
            "!!a.b 'two",
            "!!a.b c:\"it's",
            "!!a.b ['it''",
        ] {
            assert!(!is_complete(line), "{line}");
        }
    }

    #[test]
    fn names_are_completed_behind_a_namespace_too() {
        let names = ["join", "osis::get", "osis::new", "osmosis"].map(ToOwned::to_owned);
        for (before, start, found) in [
            ("jo", 0, &["join"][..]),
            ("let x = osis::", 8, &["osis::get", "osis::new"]),
            ("[osis::n", 1, &["osis::new"]),
            ("os", 0, &["osis::get", "osis::new", "osmosis"]),
            ("#{a:jo", 4, &["join"]),
            ("!!osis.g", 2, &["osis.get"]),
            ("!!jo", 2, &["join"]),
            ("", 0, &[]),
            ("::", 0, &[]),
            ("x.::", 2, &[]),
        ] {
            assert_eq!(completions(&names, before), (start, found.iter().map(ToString::to_string).collect()), "{before}");
        }
    }
}
