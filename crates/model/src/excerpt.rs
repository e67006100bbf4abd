use std::borrow::Cow;

/// The beginning of a text, so many characters of it. Where it was cut it says so, which is how a part of a secret is recognised.
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
