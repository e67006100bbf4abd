use std::fmt::Write as _;

use super::{ScriptFunction, functions};

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
    let _ = writeln!(text, "\n### `{}`\n\n{}", function.signature(), function.description);
    if let Some(who) = function.who() {
        let _ = writeln!(text, "\nFor {who}.");
    }
    if let Some(errors) = &function.errors {
        let _ = writeln!(text, "\nError: {errors}");
    }
    let _ = writeln!(text, "\n```rhai\n{}\n```", function.example);
    if let Some(result) = &function.example_result {
        let _ = writeln!(text, "\ngives `{}`", result.as_str());
    }
}
