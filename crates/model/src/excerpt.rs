use std::borrow::Cow;

/// Returns the first `characters` of a text. A cut text ends with `…`, by which masking recognises parts of secrets.
pub fn excerpt(text: &str, characters: usize) -> Cow<'_, str> {
    text.char_indices().nth(characters).map_or(Cow::Borrowed(text), |(end, _)| format!("{}…", &text[..end]).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_that_is_longer_is_cut() {
        for (text, told) in [("", ""), ("éé", "éé"), ("ééé", "éé…")] {
            assert_eq!(excerpt(text, 2), told);
        }
    }
}
