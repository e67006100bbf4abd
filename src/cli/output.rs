//! Prints answers: as coloured lines for people, as JSON for programs. Nothing else in the command line writes to a
//! terminal, which `clippy.toml` ensures.

pub(super) mod local_time;
pub(super) mod progress;
pub(super) mod table;
mod wrap;

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::model::{ErrorKind, LogLevel, Status, tree};
pub(super) use crate::model::{escaped, harmless};

/// The colours (on a terminal, unless `NO_COLOR` is set) and width of the terminal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    colour: bool,
    /// The columns of the terminal, if the output is one.
    pub(super) columns: Option<usize>,
}

impl Style {
    pub(super) fn stdout() -> Self {
        Self::on(out().is_terminal(), terminal_columns(out()))
    }

    pub(super) fn stderr() -> Self {
        Self::on(err().is_terminal(), terminal_columns(err()))
    }

    /// Returns a style with or without colours.
    #[cfg(test)]
    pub(super) const fn coloured(colour: bool) -> Self {
        Self { colour, columns: None }
    }

    fn on(terminal: bool, columns: Option<usize>) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self { colour: terminal && !refused, columns }
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

    /// Formats the status of a job, with the reason of an error. The API has a single status for all errors.
    pub(super) fn status(self, status: Status, kind: Option<ErrorKind>) -> Line {
        match (status, kind) {
            (Status::Finished, _) => self.green(status.as_str()),
            (Status::Started, _) => self.bold(status.as_str()),
            (Status::Error, Some(ErrorKind::Stopped)) => self.yellow("stopped"),
            (Status::Error, Some(ErrorKind::Timeout)) => self.red("timed out"),
            (Status::Error, _) => self.red("failed"),
            _ => status.as_str().into(),
        }
    }

    /// Formats the level of a log line, if it is worth showing.
    pub(super) fn level(self, level: LogLevel) -> Line {
        match level {
            LogLevel::Debug => self.dim("debug: "),
            LogLevel::Info => Line::default(),
            LogLevel::Warn => self.yellow("warn: "),
            LogLevel::Error => self.red("error: "),
        }
    }
}

/// One line for a terminal. A text becomes a line only through [`harmless`], so it cannot control the terminal or look
/// like another line. Its only escape sequences are the colours of [`Style`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Line(String);

impl Line {
    /// Returns the line as it is printed.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the number of columns of the line; the escape sequences of [`Style`] take none.
    pub(super) fn width(&self) -> usize {
        Self::shown_in(&self.0).count()
    }

    /// Returns the positions of the visible characters of a line.
    fn shown_in(text: &str) -> impl Iterator<Item = usize> {
        let mut inside = false;
        text.char_indices().filter_map(move |(at, c)| {
            let seen = !inside && c != '\x1b';
            inside = c == '\x1b' || inside && c != 'm';
            seen.then_some(at)
        })
    }

    /// Cuts the line to at most `most` columns.
    pub(super) fn cut(&self, most: usize) -> Self {
        if self.width() <= most {
            return self.clone();
        }
        let at = Self::shown_in(&self.0).nth(most.saturating_sub(1)).unwrap_or_default();
        let end = if self.0.contains('\x1b') { "\x1b[0m" } else { "" };
        Self(format!("{}…{end}", &self.0[..at]))
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

/// Formats a document as JSON on one line, with terminal control characters escaped. The value stays the same.
pub(super) fn json_text(document: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(document).map(escaped)
}

/// Prints one JSON document.
pub(super) fn json(document: &impl Serialize) -> anyhow::Result<()> {
    let terminal = out().is_terminal();
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

/// Prints a text that a script returned: unchanged into a file or pipe, without control characters on a terminal.
pub(super) fn text(text: &str) -> anyhow::Result<()> {
    if out().is_terminal() { lines(text) } else { write(text) }
}

/// Whether anything was printed.
static SPOKE: AtomicBool = AtomicBool::new(false);

/// Whether nothing was shown yet to a person at the terminal.
pub(super) fn is_silent() -> bool {
    is_watched() && !SPOKE.load(Ordering::Relaxed)
}

/// Shows a note on stderr. A failure to write it is ignored, because the answer may still be wanted.
pub(super) fn note(line: impl Into<Line>) {
    SPOKE.store(true, Ordering::Relaxed);
    let _ = writeln!(err(), "{}", line.into().as_str());
}

/// Shows a note of any length on stderr. On a terminal it is wrapped between words, with all lines but the first
/// indented.
pub(super) fn tell(line: impl Into<Line>, indent: usize) {
    fitted(line.into(), Style::stderr(), indent).into_iter().for_each(note);
}

/// Prints a paragraph of any length, wrapped as by [`tell`].
pub(super) fn paragraph(line: impl Into<Line>, indent: usize) -> anyhow::Result<()> {
    fitted(line.into(), Style::stdout(), indent).into_iter().try_for_each(self::line)
}

fn fitted(line: Line, style: Style, indent: usize) -> Vec<Line> {
    match style.columns {
        Some(room) => line.wrapped(room, indent),
        None => vec![line],
    }
}

/// Shows why arguments were refused, in clap's colours. The text must be escaped already.
pub(super) fn refusal(said: &clap::builder::StyledStr, plain: fn(&str) -> String) {
    let style = Style::stderr();
    let text = if style.colour { said.ansi().to_string() } else { said.to_string() };
    for (number, part) in plain(&text).trim_end().lines().enumerate() {
        let indent = if number == 0 { 7 } else { 2 + part.len() - part.trim_start().len() };
        fitted(Line(part.to_owned()), style, indent).into_iter().for_each(note);
    }
}

/// Shows on the terminal of stderr that there is nothing to print, which is no news for programs.
pub(super) fn aside(text: impl Into<Line>) {
    if is_watched() {
        note(Style::stderr().dim(text));
    }
}

/// Writes a line of JSON to stderr.
pub(super) fn note_json(document: &impl Serialize) {
    if let Ok(text) = json_text(document) {
        let _ = writeln!(err(), "{text}");
    }
}

/// Shows a line on stderr that the next one replaces. `None` removes the line. For terminals.
pub(super) fn transient(line: Option<&Line>) {
    SPOKE.store(true, Ordering::Relaxed);
    let mut err = err().lock();
    let _ = write!(err, "\r\x1b[2K{}", line.map_or("", Line::as_str)).and_then(|()| err.flush()); // The terminal may be gone.
}

/// Shows lines on stderr over the `before` lines shown last time. For terminals.
pub(super) fn redraw(lines: &[Line], before: usize) {
    SPOKE.store(true, Ordering::Relaxed);
    let columns = columns_of_notes().unwrap_or(80).saturating_sub(1).max(1);
    let mut text = if before > 0 { format!("\x1b[{before}A\x1b[J") } else { String::new() };
    for line in lines {
        // A wrapped line could not be erased.
        text.push_str(line.cut(columns).as_str());
        text.push('\n');
    }
    let mut err = err().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush()); // The terminal may be gone.
}

/// Returns the number of rows of stderr's terminal, if it is one.
pub(super) fn rows() -> Option<usize> {
    rustix::termios::tcgetwinsize(err()).ok().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0)
}

/// Prints one of our own texts for programs unchanged: a document, or a shell script.
pub(super) fn document(text: &str) -> anyhow::Result<()> {
    SPOKE.store(true, Ordering::Relaxed);
    let mut out = out().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// Writes a line in one call, so that lines of a stream arrive whole.
fn write(text: &str) -> anyhow::Result<()> {
    document(&format!("{text}\n"))
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to a terminal")]
fn out() -> std::io::Stdout {
    std::io::stdout()
}

#[expect(clippy::disallowed_methods, reason = "this is the one place that writes to a terminal")]
fn err() -> std::io::Stderr {
    std::io::stderr()
}

/// Whether stderr is a terminal.
pub(super) fn is_watched() -> bool {
    err().is_terminal()
}

/// Returns the maximum number of columns of lines on stdout: those of the terminal, else `COLUMNS`. `None` means no
/// limit.
pub(super) fn columns() -> Option<usize> {
    columns_of(out())
}

/// Returns the maximum number of columns of lines on stderr.
pub(super) fn columns_of_notes() -> Option<usize> {
    columns_of(err())
}

fn columns_of(stream: impl std::os::fd::AsFd) -> Option<usize> {
    terminal_columns(stream).or_else(|| std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0))
}

fn terminal_columns(stream: impl std::os::fd::AsFd) -> Option<usize> {
    rustix::termios::tcgetwinsize(stream).ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::controls_terminal;

    #[test]
    fn text_of_others_cannot_steer_the_terminal() {
        let style = Style::coloured(true);
        assert_eq!(Line::from("a\tb\x1b[2J\r\nc").0, "a\tb\\u{1b}[2J\\r\\nc");
        assert_eq!(style.green("\u{9b}2J").0, "\x1b[32m\\u{9b}2J\x1b[0m");
        assert_eq!((style.bold("a") + "\x7f\u{202e}é👩\u{200d}🚀").0, "\x1b[1ma\x1b[0m\\u{7f}\\u{202e}é👩\u{200d}🚀");
        let long = style.red("FORGED") + &"x".repeat(60);
        assert_eq!(long.cut(9).0, "\x1b[31;1mFORGED\x1b[0mxx…\x1b[0m");
        assert_eq!((long.width(), Line::from("short").cut(5).0.as_str()), (66, "short"));
    }

    #[test]
    fn json_with_escapes_has_the_same_value() {
        let text: String = (0..0x3000).chain([0xfeff, 0x1f600]).filter_map(char::from_u32).collect();
        let json = json_text(&text).unwrap();
        assert!(!json.contains(controls_terminal), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
