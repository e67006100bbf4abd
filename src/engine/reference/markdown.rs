use std::fmt::Write as _;

use super::functions;

/// The functions as Markdown: a heading for each subject and for each function.
pub fn markdown() -> String {
    let (mut text, mut last) = (String::new(), "");
    for function in functions() {
        if last != function.group {
            last = &function.group;
            let (first, rest) = last.split_at(1);
            let _ = writeln!(text, "\n## {}{rest}", first.to_uppercase()); // A text takes all.
        }
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
    text.push('\n');
    text
}
