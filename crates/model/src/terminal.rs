/// Whether a character controls a terminal instead of being shown: the controls of C0 and C1, DEL, line separators, and those that change
/// the direction of writing.
pub fn controls_terminal(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes a text harmless: one line, in which characters that would control the terminal are shown as escapes.
pub fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let bad = |c: char| c != '\t' && controls_terminal(c);
    if !text.contains(bad) {
        return text.into();
    }
    text.chars().flat_map(|c| if bad(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect::<String>().into()
}

/// Escapes in JSON the characters that control a terminal and that JSON itself does not escape. They occur in texts only.
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
