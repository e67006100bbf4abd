use std::fmt::Write as _;

use super::{ScriptFunction, functions};

/// The longest line, in characters, unless a piece of code is longer.
const LINE_CHARS: usize = 120;

/// Returns the functions as Markdown: a heading for each subject and for each function.
pub fn markdown() -> String {
    let (mut text, mut last) = (String::new(), "");
    for function in functions() {
        if last != function.group {
            last = &function.group;
            let (first, rest) = last.split_at(1);
            let _ = writeln!(text, "\n## {}{rest}", first.to_uppercase()); // Writing to a String cannot fail.
        }
        describe(&mut text, function);
    }
    text.push('\n');
    text
}

/// Returns the functions of each subject as Markdown, by the name of the subject.
pub fn markdown_by_group() -> Vec<(&'static str, String)> {
    functions().chunk_by(|one, next| one.group == next.group).map(of_group).collect()
}

fn of_group(functions: &'static [ScriptFunction]) -> (&'static str, String) {
    let (group, mut text) = (functions.first().map_or("", |function| &function.group), String::new());
    functions.iter().for_each(|function| describe(&mut text, function));
    (group, text)
}

fn describe(text: &mut String, function: &ScriptFunction) {
    let _ = writeln!(text, "\n### `{}`\n\n{}", function.signature(), wrapped(&function.description));
    if let Some(who) = function.who() {
        let _ = writeln!(text, "\n{}", wrapped(&format!("For {who}.")));
    }
    if let Some(errors) = &function.errors {
        let _ = writeln!(text, "\n{}", wrapped(&format!("Error: {errors}")));
    }
    let _ = writeln!(text, "\n```rhai\n{}\n```", function.example);
    if let Some(result) = &function.example_result {
        let _ = writeln!(text, "\ngives `{}`", result.as_str());
    }
}

/// Breaks lines between words, but not within code. Descriptions are paragraphs, without lists or blocks of code.
fn wrapped(text: &str) -> String {
    let mut wrapped = String::with_capacity(text.len());
    for line in text.lines() {
        let (mut quoted, mut chars) = (false, 0);
        for piece in line.split(|c| {
            quoted ^= c == '`';
            c == ' ' && !quoted
        }) {
            let more = piece.chars().count();
            if chars > 0 && chars + 1 + more > LINE_CHARS {
                wrapped.push('\n');
                chars = 0;
            } else if chars > 0 {
                wrapped.push(' ');
                chars += 1;
            }
            wrapped.push_str(piece);
            chars += more;
        }
        wrapped.push('\n');
    }
    wrapped.truncate(wrapped.trim_end().len());
    wrapped
}
