//! How answers look: aligned tables and colour for people, JSON for programs.

use std::io::{IsTerminal as _, Write as _};

use serde::Serialize;

use crate::model::{LogLevel, Status, Timestamp, tree};

/// Colours, where they are wanted: on a terminal, unless `NO_COLOR` is set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    colour: bool,
}

impl Style {
    pub(super) fn stdout() -> Self {
        Self::on(std::io::stdout().is_terminal())
    }

    pub(super) fn stderr() -> Self {
        Self::on(std::io::stderr().is_terminal())
    }

    fn on(terminal: bool) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colour: terminal && !refused }
    }

    fn paint(self, code: &str, text: impl Into<Line>) -> Line {
        let Line(text) = text.into();
        Line(if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text })
    }

    pub(super) fn red(self, text: impl Into<Line>) -> Line {
        self.paint("31;1", text)
    }

    pub(super) fn green(self, text: impl Into<Line>) -> Line {
        self.paint("32", text)
    }

    pub(super) fn yellow(self, text: impl Into<Line>) -> Line {
        self.paint("33", text)
    }

    pub(super) fn dim(self, text: impl Into<Line>) -> Line {
        self.paint("2", text)
    }

    pub(super) fn bold(self, text: impl Into<Line>) -> Line {
        self.paint("1", text)
    }

    pub(super) fn status(self, status: Status) -> Line {
        match status {
            Status::Finished => self.green(status.as_str()),
            Status::Error => self.red(status.as_str()),
            Status::Started => self.bold(status.as_str()),
            _ => status.as_str().into(),
        }
    }

    /// A log line's level, where it is worth showing.
    pub(super) fn level(self, level: LogLevel) -> Line {
        match level {
            LogLevel::Debug => self.dim("debug: "),
            LogLevel::Info => Line::default(),
            LogLevel::Warn => self.yellow("warn: "),
            LogLevel::Error => self.red("error: "),
        }
    }
}

/// One line for a terminal. Texts become one only by [`harmless`], so whatever is in it cannot steer the terminal or forge a line; what
/// steers it are the colours of [`Style`] alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line(String);

impl Line {
    /// It as it is printed.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str>> From<T> for Line {
    fn from(text: T) -> Self {
        Self(harmless(text.as_ref()).into_owned())
    }
}

impl<T: Into<Self>> std::ops::Add<T> for Line {
    type Output = Self;

    fn add(mut self, more: T) -> Self {
        self.0.push_str(&more.into().0);
        self
    }
}

/// Texts and lines of a row as cells of it.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => { [$($crate::cli::output::Line::from($cell)),*] };
}
pub(super) use cells;

/// Whether a character does something to a terminal besides standing there: controls (of C0 and C1, and DEL), ends of lines, and what turns the
/// direction of writing.
fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Makes text that came from elsewhere harmless: one line, in which characters that would steer the terminal show as escapes.
pub(super) fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let bad = |c: char| c != '\t' && steers(c);
    if !text.contains(bad) {
        return text.into();
    }
    text.chars().flat_map(|c| if bad(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect::<String>().into()
}

/// A document as JSON on one line, in which what would steer a terminal stands escaped. Its value is the same.
pub(super) fn json_text(document: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(document).map(escaped)
}

/// JSON itself escapes the rest, and has such characters in texts alone.
pub(super) fn escaped(json: String) -> String {
    let bad = |c: char| c >= '\u{7f}' && steers(c);
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

/// Prints one JSON document.
pub(super) fn json(document: &impl Serialize) -> anyhow::Result<()> {
    let terminal = std::io::stdout().is_terminal();
    let text =
        if terminal { escaped(serde_json::to_string_pretty(&tree(&serde_json::to_string(document)?)?)?) } else { json_text(document)? };
    write(&text)
}

/// Prints one line.
pub(super) fn line(line: impl Into<Line>) -> anyhow::Result<()> {
    write(line.into().as_str())
}

/// Prints a text of several lines.
pub(super) fn lines(text: &str) -> anyhow::Result<()> {
    text.split('\n').try_for_each(|part| line(part.strip_suffix('\r').unwrap_or(part)))
}

/// Prints a text that a script gave: into a file or pipe as it is, to the byte; on a terminal so that it does no harm there.
pub(super) fn text(text: &str) -> anyhow::Result<()> {
    if std::io::stdout().is_terminal() { lines(text) } else { write(text) }
}

/// Tells people something beside the answer, on stderr. Who does not read that may still want the answer.
pub(super) fn note(line: impl Into<Line>) {
    let _ = writeln!(std::io::stderr(), "{}", line.into().as_str());
}

/// The same for a line of JSON.
pub(super) fn note_json(document: &impl Serialize) {
    if let Ok(text) = json_text(document) {
        let _ = writeln!(std::io::stderr(), "{text}");
    }
}

/// One write, so that lines of a stream arrive whole.
fn write(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{text}\n").as_bytes())?;
    Ok(out.flush()?)
}

/// Rows in aligned columns; colour codes take no room.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
}

impl Table {
    pub(super) fn new(style: Style, head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|name| style.bold(*name)).collect()] }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Line>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(self.text().as_bytes())?;
        Ok(out.flush()?)
    }

    fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> =
            (0..columns).map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(width).max().unwrap_or_default()).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, column) in row.iter().zip(&widths) {
                line.push_str(cell.as_str());
                line.push_str(&" ".repeat(column + 2 - width(cell)));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// How many columns a cell takes; the escape sequences of [`Style`] take none.
fn width(cell: &Line) -> usize {
    let mut inside = false;
    cell.0
        .chars()
        .filter(|c| match (*c, inside) {
            ('\x1b', _) => {
                inside = true;
                false
            }
            (c, true) => {
                inside = c != 'm';
                false
            }
            _ => true,
        })
        .count()
}

/// How long ago a time was, in the largest unit that says something.
pub(super) fn ago(time: Option<Timestamp>) -> String {
    let Some(time) = time else { return "-".to_owned() };
    match Timestamp::local().since(time).as_secs() {
        seconds @ 0..=99 => format!("{seconds}s ago"),
        seconds @ 100..=5_999 => format!("{}m ago", seconds / 60),
        seconds @ 6_000..=172_799 => format!("{}h ago", seconds / 3600),
        seconds => format!("{}d ago", seconds / 86_400),
    }
}

/// The characters of the widest cell.
const WIDEST: usize = 40;

/// A name or text for a table cell: short, on one line.
pub(super) fn cell(text: &str) -> Line {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(WIDEST) {
        Some((at, _)) => Line::from(&line[..at]) + "…",
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_whatever_their_colour() {
        let style = Style { colour: true };
        let mut table = Table::new(Style { colour: false }, &["ID", "STATUS", "X"]);
        table.row(cells!["1", style.green("finished"), "a"]);
        table.row(["22", "error", "b"]);
        assert_eq!(table.text(), "ID  STATUS    X\n1   \x1b[32mfinished\x1b[0m  a\n22  error     b\n");
    }

    #[test]
    fn text_of_others_cannot_steer_the_terminal() {
        let style = Style { colour: true };
        assert_eq!(Line::from("a\tb\x1b[2J\r\nc").0, "a\tb\\u{1b}[2J\\r\\nc");
        assert_eq!(style.green("\u{9b}2J").0, "\x1b[32m\\u{9b}2J\x1b[0m");
        assert_eq!((style.bold("a") + "\x7f\u{202e}é👩\u{200d}🚀").0, "\x1b[1ma\x1b[0m\\u{7f}\\u{202e}é👩\u{200d}🚀");
        assert_eq!(cell(&"x".repeat(60)).0, format!("{}…", "x".repeat(WIDEST)));
    }

    #[test]
    fn json_with_escapes_has_the_same_value() {
        let text: String = (0..0x3000).chain([0xfeff, 0x1f600]).filter_map(char::from_u32).collect();
        let json = json_text(&text).unwrap();
        assert!(!json.contains(steers), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
