use std::cell::RefCell;
use std::rc::Rc;

use quick_cache::unsync::Cache;
use regex::{Captures, Regex, RegexBuilder};
use rhai::{Array, Dynamic, ImmutableString, Map, NativeCallContext};

use super::definition::{Definition, Functions};
use crate::limits::Piece;
use crate::rhai::native::{Bounded, Native, failed, too_long};
use crate::rhai::run::Run;
use crate::{Limits, alloc};

/// When the functions of this group fail.
const WRONG: &str = "the pattern is invalid or too large; the message says where.";

pub(super) const DEFINITIONS: &[Definition] = &[
    Definition {
        signature: "regex_is_match(text: string, pattern: string) -> bool",
        description: "Returns whether a regular expression matches anywhere in a string. Patterns have the syntax of the Rust crate [regex](https://docs.rs/regex/1/regex/#syntax), without backreferences and look-around, so that a match takes linear time. A pattern has at most 4 KB and 32 groups; in backticks, backslashes need not be doubled.",
        errors: WRONG,
        example: r"regex_is_match(`invoice-2026-001`, `^invoice-\d{4}-\d+$`)",
        result: "true",
    },
    Definition {
        signature: "regex_find(text: string, pattern: string) -> string|nothing",
        description: "Returns the first match in a string, or `()`.",
        errors: WRONG,
        example: r"regex_find(`order 4711 of 12 May`, `\d+`)",
        result: r#""4711""#,
    },
    Definition {
        signature: "regex_find_all(text: string, pattern: string) -> array",
        description: "Returns all matches in a string, in order.",
        errors: WRONG,
        example: r"regex_find_all(`a1 b22 c333`, `\d+`)",
        result: r#"["1","22","333"]"#,
    },
    Definition {
        signature: "regex_captures(text: string, pattern: string) -> map|nothing",
        description: "Returns the groups of the first match, by number and by name, or `()` if nothing matches. `0` is the whole match; a group that did not take part is `()`.",
        errors: WRONG,
        example: r"regex_captures(`2026-01`, `(?<year>\d+)-(\d+)`)",
        result: r#"{"0":"2026-01","1":"2026","2":"01","year":"2026"}"#,
    },
    Definition {
        signature: "regex_replace(text: string, pattern: string, replacement: string) -> string",
        description: "Replaces all matches in a string. `$1` or `${name}` stands for a group, `$$` for a dollar sign. Write the replacement in double quotes, because `${name}` has another meaning in backticks.",
        errors: WRONG,
        example: r"regex_replace(`Lovelace, Ada`, `(\w+), (\w+)`, `$2 $1`)",
        result: r#""Ada Lovelace""#,
    },
    Definition {
        signature: "regex_split(text: string, pattern: string) -> array",
        description: "Returns the parts of a string between the matches.",
        errors: WRONG,
        example: r"regex_split(`a, b;c`, `[,;]\s*`)",
        result: r#"["a","b","c"]"#,
    },
];

/// The maximum length of a pattern, in bytes. A short class such as `\w` stands for hundreds of ranges, which take
/// memory before the next limit is checked.
const MAX_PATTERN_BYTES: usize = 4 << 10;
/// The maximum size of a compiled pattern, and of its memory during a search, in bytes. The time to match grows with
/// them.
const MAX_COMPILED_BYTES: usize = 512 << 10;
/// The maximum number of groups of a pattern. A search may keep a position for each group and state, which no other
/// limit counts.
const MAX_GROUPS: usize = 32;
/// The maximum number of compiled patterns that are kept.
const MAX_KEPT_PATTERNS: usize = 16;
/// The maximum temporary size of one replacement, in bytes, before its length is known.
const MAX_EXPANDED_BYTES: usize = 16 << 20;

/// The last compiled patterns, by their text.
#[derive(Clone)]
struct Patterns(Rc<RefCell<Cache<Box<str>, Rc<Regex>>>>);

impl Patterns {
    fn get(&self, context: &NativeCallContext<'_>, pattern: &str) -> Native<Rc<Regex>> {
        if let Some(known) = self.0.borrow_mut().get(pattern) {
            return Ok(Rc::clone(known));
        }
        if pattern.len() > MAX_PATTERN_BYTES {
            return Err(failed(
                context,
                format!("the pattern is too large: it has {} bytes, more than {MAX_PATTERN_BYTES}", pattern.len()),
            ));
        }
        let compiled =
            alloc::apart(|| RegexBuilder::new(pattern).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES).build());
        let regex = Rc::new(compiled.map_err(|error| failed(context, format!("the pattern is wrong: {}", told(&error))))?);
        // The first is the whole match.
        if regex.captures_len() > MAX_GROUPS + 1 {
            return Err(failed(context, format!("the pattern is too large: it has more than {MAX_GROUPS} groups")));
        }
        self.0.borrow_mut().insert(pattern.into(), Rc::clone(&regex));
        Ok(regex)
    }
}

/// Returns the error of a pattern, with its position. The library's message has several lines: one repeats the pattern,
/// one points at a position, the last has the reason.
fn told(error: &regex::Error) -> String {
    /// The indentation of a pattern of one line.
    const INDENT: usize = 4;
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    let why = last.strip_prefix("error: ").unwrap_or(last);
    let caret = text.lines().nth(2).filter(|line| line.trim_matches([' ', '^']).is_empty()).and_then(|line| line.find('^'));
    match caret.and_then(|at| at.checked_sub(INDENT)) {
        Some(at) => format!("{why}, at character {}", at + 1),
        None => why.to_owned(),
    }
}

pub(super) fn add(functions: &mut Functions<'_>) {
    let all = Patterns(Rc::new(RefCell::new(Cache::new(MAX_KEPT_PATTERNS))));
    let patterns = all.clone();
    functions.add("regex_is_match", move |context: NativeCallContext, text: &str, pattern: &str| -> Native<bool> {
        Ok(patterns.get(&context, pattern)?.is_match(text))
    });
    let patterns = all.clone();
    functions.add("regex_find", move |context: NativeCallContext, text: &str, pattern: &str| -> Native<Dynamic> {
        Ok(patterns.get(&context, pattern)?.find(text).map_or(Dynamic::UNIT, |found| found.as_str().to_owned().into()))
    });
    let (patterns, run) = (all.clone(), functions.run());
    functions.add("regex_find_all", move |context: NativeCallContext, text: &str, pattern: &str| {
        list(&context, &run, patterns.get(&context, pattern)?.find_iter(text).map(|found| found.as_str()))
    });
    let patterns = all.clone();
    functions.add("regex_captures", move |context: NativeCallContext, text: &str, pattern: &str| -> Native<Dynamic> {
        let regex = patterns.get(&context, pattern)?;
        Ok(regex.captures(text).map_or(Dynamic::UNIT, |captures| Dynamic::from_map(groups(&regex, &captures))))
    });
    let (patterns, run) = (all.clone(), functions.run());
    functions.add("regex_replace", move |context: NativeCallContext, text: &str, pattern: &str, replacement: &str| {
        let regex = patterns.get(&context, pattern)?;
        replaced(&context, &run, text, &regex, replacement)
    });
    let run = functions.run();
    functions.add("regex_split", move |context: NativeCallContext, text: &str, pattern: &str| {
        list(&context, &run, all.get(&context, pattern)?.split(text))
    });
}

fn list<'t>(context: &NativeCallContext<'_>, run: &Run, parts: impl Iterator<Item = &'t str>) -> Native<Array> {
    let mut list = Array::new();
    for part in parts {
        // Each match may have searched the whole rest of the text.
        run.go_on()?;
        if list.len() == Limits::ARRAY {
            return Err(too_long(context, Piece::Array));
        }
        list.push(part.to_owned().into());
    }
    Ok(list)
}

fn groups(regex: &Regex, captures: &Captures<'_>) -> Map {
    let text = |at: usize| captures.get(at).map_or(Dynamic::UNIT, |group| group.as_str().to_owned().into());
    let named = regex.capture_names().enumerate().filter_map(|(at, name)| Some((name?.into(), text(at))));
    (0..captures.len()).map(|at| (at.to_string().into(), text(at))).chain(named).collect()
}

/// Replaces all matches. The size of a replacement that names groups many times is checked before it is made.
fn replaced(context: &NativeCallContext<'_>, run: &Run, text: &str, regex: &Regex, replacement: &str) -> Native<ImmutableString> {
    let (mut out, mut last, dollars) = (Bounded::new(context), 0, replacement.matches('$').count());
    for captures in regex.captures_iter(text) {
        run.go_on()?;
        let Some(whole) = captures.get(0) else { continue };
        if dollars.saturating_mul(whole.len()).saturating_add(replacement.len()) > MAX_EXPANDED_BYTES {
            return Err(too_long(context, Piece::Text));
        }
        let mut expanded = String::new();
        captures.expand(replacement, &mut expanded);
        out.push(&text[last..whole.start()])?;
        out.push(&expanded)?;
        last = whole.end();
    }
    out.push(&text[last..])?;
    Ok(out.done())
}
