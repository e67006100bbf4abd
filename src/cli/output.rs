//! How answers look: aligned tables and colour for people, JSON for programs.

use std::io::{IsTerminal as _, Write as _};

use serde::Serialize;

use crate::model::{LogLevel, Status, Timestamp};

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

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn red(self, text: &str) -> String {
        self.paint("31;1", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn status(self, status: Status) -> String {
        match status {
            Status::Finished => self.green(status.as_str()),
            Status::Error => self.red(status.as_str()),
            Status::Started => self.bold(status.as_str()),
            _ => status.to_string(),
        }
    }

    /// A log line's level, where it is worth showing.
    pub(super) fn level(self, level: LogLevel) -> String {
        match level {
            LogLevel::Debug => self.dim("debug: "),
            LogLevel::Info => String::new(),
            LogLevel::Warn => self.yellow("warn: "),
            LogLevel::Error => self.red("error: "),
        }
    }
}

/// Prints one JSON document.
pub(super) fn json(document: &impl Serialize) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if out.is_terminal() {
        serde_json::to_writer_pretty(&mut out, document)?;
    } else {
        let text = serde_json::to_string(document)?; // One write, so that lines of a stream arrive whole.
        out.write_all(text.as_bytes())?;
    }
    writeln!(out)?;
    Ok(out.flush()?)
}

/// Prints one line.
pub(super) fn line(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}")?;
    Ok(out.flush()?)
}

/// Makes text that came from elsewhere harmless to a terminal: control characters show as escapes.
pub(super) fn harmless(text: &str) -> std::borrow::Cow<'_, str> {
    let bad = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    if !text.contains(bad) {
        return text.into();
    }
    text.chars().flat_map(|c| if bad(c) { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect::<String>().into()
}

/// Rows in aligned columns; colour codes take no room.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(style: Style, head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|name| style.bold(name)).collect()] }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(super) fn print(&self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(self.text().as_bytes())?;
        Ok(out.flush()?)
    }

    fn text(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let widths: Vec<usize> = (0..columns)
            .map(|at| self.rows.iter().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or_default())
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, column) in row.iter().zip(&widths) {
                line.push_str(cell);
                line.push_str(&" ".repeat(column + 2 - width(cell)));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// How many columns a cell takes; the escape sequences of [`Style`] take none.
fn width(cell: &str) -> usize {
    let mut inside = false;
    cell.chars()
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
pub(super) fn cell(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(WIDEST) {
        Some((at, _)) => format!("{}…", harmless(&line[..at])),
        None => harmless(line).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_whatever_their_colour() {
        let style = Style { colour: true };
        let mut table = Table::new(Style { colour: false }, &["ID", "STATUS", "X"]);
        table.row(["1".to_owned(), style.green("finished"), "a".to_owned()]);
        table.row(["22".to_owned(), "error".to_owned(), "b".to_owned()]);
        assert_eq!(table.text(), "ID  STATUS    X\n1   \x1b[32mfinished\x1b[0m  a\n22  error     b\n");
    }

    #[test]
    fn text_of_others_cannot_steer_the_terminal() {
        assert_eq!(harmless("a\tb\x1b[2J\r"), "a\tb\\u{1b}[2J\\r");
        assert_eq!(cell(&"x".repeat(60)), format!("{}…", "x".repeat(WIDEST)));
    }
}
