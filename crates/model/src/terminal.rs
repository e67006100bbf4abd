/// Whether a character controls a terminal instead of being shown: C0 and C1 controls, DEL, line separators, and
/// characters that change the direction of writing.
pub fn controls_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes a text safe for a terminal: one line, with escapes in place of characters that control the terminal.
pub fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let bad = |c: char| c != '\t' && controls_terminal(c);
    if !text.contains(bad) {
        return text.into();
    }
    text.chars().flat_map(|c| if bad(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect::<String>().into()
}

/// Escapes the characters in JSON that control a terminal and that JSON itself does not escape. They occur in strings
/// only.
pub fn escaped(json: String) -> String {
    let bad = |c: char| c >= '\u{7f}' && controls_terminal(c);
    if !json.contains(bad) {
        return json;
    }
    json.chars().fold(String::with_capacity(json.len() + 16), |mut text, c| {
        if bad(c) {
            text.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            text.push(c);
        }
        text
    })
}
