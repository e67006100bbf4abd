use std::collections::VecDeque;

use super::cause::Cause;
use crate::log_room::LogRoom;
use crate::{Limits, LogRecord};
use hero_model::LogLevel;

/// A longer line is split.
const MAX_LINE_BYTES: usize = 16 << 10;
/// The number of last lines of stderr that explain the failure of a command, and the maximum length of each in bytes.
const LAST_LINES: usize = 10;
const LAST_BYTES: usize = 500;

/// The log of one job: the output of its process, line by line.
pub(super) struct JobLines {
    room: LogRoom,
    pending: Vec<LogRecord>,
    out: Vec<u8>,
    err: Vec<u8>,
    /// The last lines of stderr, in the log or not.
    last: VecDeque<String>,
    cause: Cause,
}

/// A stream of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stream {
    Out,
    Err,
}

impl Stream {
    const fn level(self) -> LogLevel {
        match self {
            Self::Out => LogLevel::Info,
            Self::Err => LogLevel::Error,
        }
    }
}

impl JobLines {
    pub(super) fn new(limits: &Limits) -> Self {
        let room = LogRoom::new(limits.log);
        let (last, cause) = (VecDeque::new(), Cause::default());
        Self { room, pending: Vec::new(), out: Vec::new(), err: Vec::new(), last, cause }
    }

    /// Processes output. A line is logged once it is complete.
    pub(super) fn wrote(&mut self, stream: Stream, mut bytes: &[u8]) {
        let mut begun = std::mem::take(self.begun(stream));
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            begun.extend_from_slice(&bytes[..end]);
            self.line(stream, &begun);
            begun.clear();
            bytes = &bytes[end + 1..];
        }
        begun.extend_from_slice(bytes);
        while begun.len() > MAX_LINE_BYTES {
            let rest = begun.split_off(boundary(&begun, MAX_LINE_BYTES));
            self.line(stream, &begun);
            begun = rest;
        }
        *self.begun(stream) = begun;
    }

    /// Logs incomplete lines: no more output follows.
    pub(super) fn ended(&mut self) {
        for stream in [Stream::Out, Stream::Err] {
            let begun = std::mem::take(self.begun(stream));
            if !begun.is_empty() {
                self.line(stream, &begun);
            }
        }
    }

    fn begun(&mut self, stream: Stream) -> &mut Vec<u8> {
        match stream {
            Stream::Out => &mut self.out,
            Stream::Err => &mut self.err,
        }
    }

    fn line(&mut self, stream: Stream, mut line: &[u8]) {
        line = line.strip_suffix(b"\r").unwrap_or(line);
        if stream == Stream::Err {
            if self.last.len() == LAST_LINES {
                self.last.pop_front();
            }
            let shown = boundary(line, LAST_BYTES);
            let mut said = String::from_utf8_lossy(&line[..shown]).into_owned();
            if shown < line.len() {
                // The cut may leave a part of a secret. The mark tells the code that masks secrets.
                said.push('…');
            }
            self.cause.line(&said);
            self.last.push_back(said);
        }
        while line.len() > MAX_LINE_BYTES {
            let (piece, rest) = line.split_at(boundary(line, MAX_LINE_BYTES));
            self.log(stream.level(), &String::from_utf8_lossy(piece));
            line = rest;
        }
        self.log(stream.level(), &String::from_utf8_lossy(line));
    }

    /// Logs a line, if there is room.
    pub(super) fn log(&mut self, level: LogLevel, text: &str) {
        self.pending.extend(self.room.take(level, text));
    }

    /// Takes the records that were not sent yet.
    pub(super) fn take(&mut self) -> Vec<LogRecord> {
        std::mem::take(&mut self.pending)
    }

    /// Returns the last non-empty lines of stderr.
    pub(super) fn last(&self) -> Vec<String> {
        self.last.iter().filter(|line| !line.trim().is_empty()).cloned().collect()
    }

    /// Returns the line of stderr that explains the failure.
    pub(super) fn cause(&self) -> Option<String> {
        self.cause.told().map(ToOwned::to_owned)
    }
}

/// Returns where to cut so that no character is split: `most` or a little less.
fn boundary(bytes: &[u8], most: usize) -> usize {
    if bytes.len() <= most {
        return bytes.len();
    }
    // The first byte of a character is not of the form 10xxxxxx.
    (most.saturating_sub(3)..=most).rev().find(|at| bytes[*at] & 0xC0 != 0x80).unwrap_or(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &mut JobLines) -> Vec<String> {
        lines.take().into_iter().map(|record| record.text).collect()
    }

    #[test]
    fn lines_are_put_together_whatever_the_cuts() {
        let mut lines = JobLines::new(&Limits::default());
        for byte in "one\ntwo ü\r\n\nfour".as_bytes().chunks(1) {
            lines.wrote(Stream::Out, byte);
        }
        lines.wrote(Stream::Err, b"bad\n");
        assert_eq!(texts(&mut lines), ["one", "two ü", "", "bad"]);
        lines.ended();
        assert_eq!(texts(&mut lines), ["four"]);
        assert_eq!(lines.last(), ["bad"]);
    }

    #[test]
    fn a_long_line_becomes_several_and_no_character_is_cut() {
        for text in ["ü".repeat(30_000), format!("x{}", "ü".repeat(30_000)), "y".repeat(50_000)] {
            for (piece, end) in [(7, ""), (100_000, "\n")] {
                let mut lines = JobLines::new(&Limits::default());
                format!("{text}{end}").as_bytes().chunks(piece).for_each(|chunk| lines.wrote(Stream::Out, chunk));
                lines.ended();
                let texts = texts(&mut lines);
                assert!(texts.iter().all(|line| line.len() <= MAX_LINE_BYTES) && texts.concat() == text, "{}", texts.len());
            }
        }
    }

    #[test]
    fn where_a_line_of_an_error_is_cut_it_says_so() {
        let mut lines = JobLines::new(&Limits::default());
        lines.wrote(Stream::Err, format!("{}\n{}\n", "x".repeat(LAST_BYTES), "y".repeat(LAST_BYTES + 1)).as_bytes());
        assert_eq!(lines.last(), ["x".repeat(LAST_BYTES), format!("{}…", "y".repeat(LAST_BYTES))]);
    }

    #[test]
    fn the_log_ends_at_its_limit_with_a_line_that_says_so() {
        let mut lines = JobLines::new(&Limits { log: 1000, ..Limits::default() });
        (0..100).for_each(|_| lines.wrote(Stream::Err, b"0123456789\n"));
        let records = lines.take();
        let last = records.last().unwrap();
        assert!(last.level == LogLevel::Warn && last.text.contains("more than 1000 bytes (script_log)"), "{last:?}");
        assert_eq!((records.len(), lines.last().len()), (1000 / 42 + 1, LAST_LINES));
    }
}
