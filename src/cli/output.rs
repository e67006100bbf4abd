//! How answers look: lines and colour for people, JSON for programs. The only place of the command line that writes to a terminal;
//! `clippy.toml` keeps it so.

mod wrap;

use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::model::{ErrorKind, LogLevel, Status, tree};

/// Colours, where they are wanted: on a terminal, unless `NO_COLOR` is set; and how wide that terminal is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    colour: bool,
    /// The columns of the terminal, if it is one.
    pub(super) columns: Option<usize>,
}

impl Style {
    pub(super) fn stdout() -> Self {
        Self::on(out().is_terminal(), terminal_columns(out()))
    }

    pub(super) fn stderr() -> Self {
        Self::on(err().is_terminal(), terminal_columns(err()))
    }

    /// As it is on a terminal that knows colours, or not.
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

    /// A status as people are told of it, who want to know how a job ended; the wire has one word for all bad ends.
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

    /// How many columns it takes; the escape sequences of [`Style`] take none.
    pub(super) fn width(&self) -> usize {
        Self::shown_in(&self.0).count()
    }

    /// The places of the characters of a line that are seen.
    fn shown_in(text: &str) -> impl Iterator<Item = usize> {
        let mut inside = false;
        text.char_indices().filter_map(move |(at, c)| {
            let seen = !inside && c != '\x1b';
            inside = c == '\x1b' || inside && c != 'm';
            seen.then_some(at)
        })
    }

    /// Its beginning, in so many columns at most.
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

/// Prints a text that a script gave: into a file or pipe as it is, to the byte; on a terminal so that it does no harm there.
pub(super) fn text(text: &str) -> anyhow::Result<()> {
    if out().is_terminal() { lines(text) } else { write(text) }
}

/// Whether anything was printed.
static SPOKE: AtomicBool = AtomicBool::new(false);

/// Whether nobody who looks at stderr has seen anything yet.
pub(super) fn is_silent() -> bool {
    is_watched() && !SPOKE.load(Ordering::Relaxed)
}

/// Tells people something beside the answer, on stderr. Who does not read that may still want the answer.
pub(super) fn note(line: impl Into<Line>) {
    SPOKE.store(true, Ordering::Relaxed);
    let _ = writeln!(err(), "{}", line.into().as_str());
}

/// The same for something of any length: on a terminal in lines that end between words, those after the first indented.
pub(super) fn tell(line: impl Into<Line>, indent: usize) {
    fitted(line.into(), Style::stderr(), indent).into_iter().for_each(note);
}

/// Prints something of any length, as [`tell`] does.
pub(super) fn paragraph(line: impl Into<Line>, indent: usize) -> anyhow::Result<()> {
    fitted(line.into(), Style::stdout(), indent).into_iter().try_for_each(self::line)
}

fn fitted(line: Line, style: Style, indent: usize) -> Vec<Line> {
    match style.columns {
        Some(room) => line.wrapped(room, indent),
        None => vec![line],
    }
}

/// What the reader of arguments says of those that are refused and harmless, in its colours.
pub(super) fn refusal(said: &clap::builder::StyledStr) {
    let style = Style::stderr();
    let text = if style.colour { said.ansi().to_string() } else { said.to_string() };
    for (number, part) in text.trim_end().lines().enumerate() {
        let indent = if number == 0 { 7 } else { 2 + part.len() - part.trim_start().len() };
        fitted(Line(part.to_owned()), style, indent).into_iter().for_each(note);
    }
}

/// The same for a line of JSON.
pub(super) fn note_json(document: &impl Serialize) {
    if let Ok(text) = json_text(document) {
        let _ = writeln!(err(), "{text}");
    }
}

/// Shows a line on stderr that the next one takes the place of; without one, makes room for what comes. For terminals.
pub(super) fn transient(line: Option<&Line>) {
    SPOKE.store(true, Ordering::Relaxed);
    let mut err = err().lock();
    let _ = write!(err, "\r\x1b[2K{}", line.map_or("", Line::as_str)).and_then(|()| err.flush()); // Nobody may look any more.
}

/// Prints a text of ours for programs as it is: a document, or a script for a shell.
pub(super) fn document(text: &str) -> anyhow::Result<()> {
    SPOKE.store(true, Ordering::Relaxed);
    let mut out = out().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

/// One write, so that lines of a stream arrive whole.
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

/// Whether people may look at stderr.
pub(super) fn is_watched() -> bool {
    err().is_terminal()
}

/// How many columns there are for lines on stdout: those of the terminal, else what `COLUMNS` says. `None`: as many as are wanted.
pub(super) fn columns() -> Option<usize> {
    columns_of(out())
}

/// The same for stderr.
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
        assert!(!json.contains(steers), "{json}");
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
    }
}
