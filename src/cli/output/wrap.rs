//! Wraps lines that are wider than the terminal.

use super::Line;

impl Line {
    /// Wraps the line between words, into lines of at most `room` columns. All but the first are indented.
    ///
    /// Text in backticks is meant to be copied, so it stays on one line if it fits. A word wider than `room` is not
    /// broken.
    pub(in crate::cli) fn wrapped(&self, room: usize, indent: usize) -> Vec<Self> {
        let indent = indent.min(room / 2);
        let mut lines = Vec::new();
        let mut rest = self.0.as_str();
        loop {
            let (margin, room) = if lines.is_empty() { (0, room) } else { (indent, room - indent) };
            let end = end(rest, room, if lines.is_empty() { indent } else { 0 });
            lines.push(Self(" ".repeat(margin) + rest[..end].trim_end()));
            rest = rest[end..].trim_start();
            if rest.is_empty() {
                return lines;
            }
        }
    }
}

/// Returns the end of a line of `room` columns. It is not within the first `least` columns, which are the indentation.
fn end(text: &str, room: usize, least: usize) -> usize {
    let shown: Vec<usize> = Line::shown_in(text).collect();
    if shown.len() <= room {
        return text.len();
    }
    let paired = text.matches('`').count().is_multiple_of(2);
    let (mut quoted, mut begun) = (false, false);
    // The last fitting gap between words, the last fitting gap within backticks, and the first gap after those.
    let (mut outside, mut inside, mut beyond) = (None, None, None);
    for (column, at) in shown.into_iter().enumerate() {
        match text.as_bytes()[at] {
            b' ' if !begun || column < least => {}
            b' ' if column > room => beyond = beyond.or(Some(at)),
            b' ' if quoted && paired => inside = Some(at),
            b' ' => outside = Some(at),
            b'`' => (quoted, begun) = (!quoted, true),
            _ => begun = true,
        }
    }
    outside.or(inside).or(beyond).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::super::Style;
    use super::*;

    fn wrapped(line: impl Into<Line>, room: usize) -> Vec<String> {
        line.into().wrapped(room, 7).into_iter().map(|line| line.0).collect()
    }

    #[test]
    fn lines_end_between_words_and_hang() {
        let text = "error: the queue of osis is paused; resume it, or wait";
        assert_eq!(wrapped(text, 30), ["error: the queue of osis is", "       paused; resume it, or", "       wait"]);
        assert_eq!(wrapped(text, 54), [text]);
        assert_eq!(wrapped("", 10), [""]);
        assert_eq!(wrapped("  indented as it was", 14), ["  indented as", "       it was"]);
    }

    #[test]
    fn what_is_to_be_copied_stays_whole_and_so_does_a_long_word() {
        assert_eq!(wrapped("look with `hero job show 1` now", 20), ["look with", "       `hero job", "       show 1` now"]);
        assert_eq!(wrapped("please look with `hero job list` now", 28), ["please look with", "       `hero job list` now"]);
        assert_eq!(wrapped("it's one ` and more words", 12), ["it's one `", "      and", "      more", "      words"]);
        let id = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";
        assert_eq!(wrapped(format!("look at {id}: gone"), 20), ["look at".to_owned(), format!("       {id}:"), "       gone".to_owned()]);
        assert_eq!(wrapped(format!("name   {id} or not"), 20), [format!("name   {id}"), "       or not".to_owned()]);
    }

    #[test]
    fn colours_take_no_room() {
        let line = Style::coloured(true).red("error:") + " one two";
        assert_eq!(wrapped(line.clone(), 14), [line.as_str()]);
        assert_eq!(wrapped(line, 12), ["\x1b[31;1merror:\x1b[0m one", "      two"]);
    }
}
