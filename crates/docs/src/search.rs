use serde_json::json;

use super::markdown::Page;

/// The maximum length of the text below a heading that is searchable and shown.
const MAX_TEXT_CHARS: usize = 2000;

/// Returns a script with all searchable parts, each as `[page, title of the page, anchor, heading, text]`.
///
/// It is a script because pages opened from a folder may load scripts and nothing else.
pub(super) fn index<'a>(pages: impl Iterator<Item = (&'a str, &'a Page)>) -> String {
    let entries = pages.flat_map(|(path, page)| {
        page.parts.iter().map(move |part| {
            let text: String = part.prose.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_TEXT_CHARS).collect();
            json!([path, page.title(), part.anchor, part.title, text])
        })
    });
    format!("globalThis.heroIndex = {};\n", serde_json::Value::Array(entries.collect()))
}
