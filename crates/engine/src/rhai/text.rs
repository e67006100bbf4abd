//! The text of a value as Rhai writes it, with a limit and without endless recursion.

use std::fmt::Write;

use rhai::{Array, Dynamic, FnPtr, ImmutableString, Map};

/// The text is longer than allowed; it was truncated.
pub(super) struct TooLarge;

/// Replaces parts that are too deep, or are being changed.
const DEEP: &str = "...";
/// The depth down to which parts of a value are shown.
const MAX_DEPTH: usize = 64;

/// The text of `print`: strings and characters without quotes.
pub(super) fn shown(value: &Dynamic, out: &mut String, cap: usize) -> Result<(), TooLarge> {
    match (value.read_lock::<ImmutableString>(), value.as_char()) {
        (Some(text), _) => push(out, &text, cap),
        (None, Ok(char)) => push(out, char.encode_utf8(&mut [0; 4]), cap),
        _ if value.is_unit() => Ok(()),
        _ => element(value, out, cap, MAX_DEPTH),
    }
}

/// The text of an array, with its elements as `debug` shows them.
pub(super) fn array(value: &Array, out: &mut String, cap: usize) -> Result<(), TooLarge> {
    array_at(value, out, cap, MAX_DEPTH)
}

/// The text of a map.
pub(super) fn map(value: &Map, out: &mut String, cap: usize) -> Result<(), TooLarge> {
    map_at(value, out, cap, MAX_DEPTH)
}

/// The text of a function pointer. Curried arguments are not shown.
pub(super) fn function(value: &FnPtr) -> ImmutableString {
    format!("Fn({})", value.fn_name()).into()
}

fn array_at(value: &Array, out: &mut String, cap: usize, depth: usize) -> Result<(), TooLarge> {
    push(out, "[", cap)?;
    for (at, item) in value.iter().enumerate() {
        if at > 0 {
            push(out, ", ", cap)?;
        }
        element(item, out, cap, depth)?;
    }
    push(out, "]", cap)
}

fn map_at(value: &Map, out: &mut String, cap: usize, depth: usize) -> Result<(), TooLarge> {
    push(out, "#{", cap)?;
    for (at, (name, item)) in value.iter().enumerate() {
        if at > 0 {
            push(out, ", ", cap)?;
        }
        put(out, format_args!("{name:?}: "), cap)?;
        element(item, out, cap, depth)?;
    }
    push(out, "}", cap)
}

fn element(value: &Dynamic, out: &mut String, cap: usize, depth: usize) -> Result<(), TooLarge> {
    let Some(depth) = depth.checked_sub(1) else { return push(out, DEEP, cap) };
    let Some(value) = value.read_lock::<Dynamic>() else { return push(out, DEEP, cap) };
    if let Some(items) = value.read_lock::<Array>() {
        array_at(&items, out, cap, depth)
    } else if let Some(map) = value.read_lock::<Map>() {
        map_at(&map, out, cap, depth)
    } else if let Some(pointer) = value.read_lock::<FnPtr>() {
        push(out, &function(&pointer), cap)
    } else if let Ok(char) = value.as_char() {
        push(out, char.encode_utf8(&mut [0; 4]), cap)
    } else {
        // All others are flat, and at most as long as a string may be, times its escapes.
        put(out, format_args!("{:?}", *value), cap)
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>, cap: usize) -> Result<(), TooLarge> {
    out.write_fmt(text).map_err(|_| TooLarge)?;
    cut(out, cap)
}

pub(super) fn push(out: &mut String, text: &str, cap: usize) -> Result<(), TooLarge> {
    out.push_str(text);
    cut(out, cap)
}

fn cut(out: &mut String, cap: usize) -> Result<(), TooLarge> {
    if out.len() <= cap {
        return Ok(());
    }
    out.truncate(boundary(out, cap));
    Err(TooLarge)
}

/// Returns the largest length up to `most` that splits no character.
pub(super) fn boundary(text: &str, most: usize) -> usize {
    (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_written_as_rhai_does() {
        let engine = rhai::Engine::new();
        for script in
            ["[1, 2.5, \"a\\n\", 'c', (), true, [#{b: 1, a: []}]]", "#{}", "#{a: 1, \"b c\": [1.0]}", "[Fn(\"abc\")]", "42", "\"x\"", "'x'"]
        {
            let value = engine.eval::<Dynamic>(script).unwrap();
            let mut ours = String::new();
            assert!(shown(&value, &mut ours, 1000).is_ok());
            let theirs = engine.eval::<String>(&format!("let x = {script}; `${{x}}`")).unwrap();
            assert_eq!(ours, theirs.replace("Fn(\"abc\")", "Fn(abc)"), "{script}");
        }
    }

    #[test]
    fn a_text_above_the_cap_is_cut_at_a_character() {
        let mut out = String::new();
        assert!(array(&vec![Dynamic::from("ééé"); 9], &mut out, 3).is_err());
        assert_eq!(out, "[\"");
    }
}
