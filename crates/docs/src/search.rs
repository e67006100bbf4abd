use serde_json::json;

use super::markdown::Page;

/// So much of the text below a heading can be found and is shown.
const LONGEST: usize = 2000;

/// A script with everything that can be found: `[page, title of the page, anchor, heading, text]` of each part.
///
/// It is a script, because pages that were opened from a folder may load scripts and nothing else.
pub(super) fn index<'a>(pages: impl Iterator<Item = (&'a str, &'a Page)>) -> String {
    let entries = pages.flat_map(|(path, page)| {
        page.parts.iter().map(move |part| {
            let text: String = part.prose.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST).collect();
            json!([path, page.title(), part.anchor, part.title, text])
        })
    });
    format!("globalThis.heroIndex = {};\n", serde_json::Value::Array(entries.collect()))
}
