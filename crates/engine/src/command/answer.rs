use serde::Deserialize;

use super::lines::JobLines;
use crate::Limits;
use crate::limits::{FIXED, result_is_too_long};
use hero_model::{ErrorKind, JobError, Json, Limit, LogLevel, Output, OutputFormat, exact, excerpt};

/// The maximum number of characters of an error's message and of a function name. The runner sends no more functions.
const LONGEST_MESSAGE: usize = 2000;
const LONGEST_FUNCTION: usize = 500;
const MOST_FUNCTIONS: usize = 30;
/// The maximum growth of a text as JSON: each character may be escaped.
const MAX_ESCAPE_GROWTH: usize = 6;
/// The maximum size of a whole error of the runner, or of the JSON around a text, in bytes.
const EXTRA_BYTES: usize = 128 << 10;

/// The data that a process writes to the descriptor of its result.
pub(crate) enum Answer {
    /// The result itself, up to one byte more than its limit.
    Written {
        bytes: Vec<u8>,
        /// The maximum number of bytes that are kept.
        most: usize,
    },
    /// Messages of the script runner.
    Messages(Box<RunnerMessages>),
}

/// The messages of the script runner about one script.
pub(crate) struct RunnerMessages {
    /// The message so far, until its line ends.
    begun: Vec<u8>,
    /// The first byte of the message, if it is longer than any valid message.
    skipped: Option<u8>,
    /// The maximum length of a message.
    most: usize,
    /// The error for a result that is longer.
    too_long: JobError,
    /// The result, as JSON.
    result: Option<String>,
    /// Why there is no result.
    pub(super) error: Option<JobError>,
}

/// An error of a script, as the runner reports it.
#[derive(Deserialize)]
struct Failure {
    message: String,
    line: Option<u32>,
    column: Option<u32>,
    stack: Vec<String>,
    limit: bool,
}

impl Answer {
    pub(super) fn written(limits: &Limits) -> Self {
        Self::Written { bytes: Vec::new(), most: limits.result + 1 }
    }

    pub(super) fn told(limits: &Limits) -> Self {
        let most = limits.result.max(limits.log).saturating_mul(MAX_ESCAPE_GROWTH).saturating_add(EXTRA_BYTES);
        Self::Messages(Box::new(RunnerMessages {
            begun: Vec::new(),
            skipped: None,
            most,
            too_long: result_is_too_long(limits),
            result: None,
            error: None,
        }))
    }

    /// Processes data from the descriptor.
    pub(super) fn wrote(&mut self, bytes: &[u8], lines: &mut JobLines) {
        match self {
            Self::Written { bytes: written, most } => {
                let room = most.saturating_sub(written.len());
                written.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Self::Messages(told) => told.wrote(bytes, lines),
        }
    }
}

impl RunnerMessages {
    fn wrote(&mut self, mut bytes: &[u8], lines: &mut JobLines) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.begin(&bytes[..end]);
            let message = std::mem::take(&mut self.begun);
            match self.skipped.take() {
                None => self.message(&String::from_utf8_lossy(&message), lines),
                Some(kind) => self.skip(kind),
            }
            bytes = &bytes[end + 1..];
        }
        self.begin(bytes);
    }

    fn begin(&mut self, bytes: &[u8]) {
        if self.begun.len() + bytes.len() > self.most {
            self.skipped = self.skipped.or_else(|| self.begun.first().or(bytes.first()).copied());
            self.begun.clear();
        } else if self.skipped.is_none() {
            self.begun.extend_from_slice(bytes);
        }
    }

    /// Makes the job fail if its result or error was too long, instead of ignoring the message.
    fn skip(&mut self, kind: u8) {
        match kind {
            b'r' => self.error = Some(self.too_long.clone()),
            b'e' => self.error = Some(JobError::new(ErrorKind::Script, "the script failed, and its error is too long to be told")),
            _ => {}
        }
    }

    /// Processes one message. The script can write here, too: its own valid messages are accepted, invalid ones are
    /// skipped.
    fn message(&mut self, message: &str, lines: &mut JobLines) {
        let Some(kind) = message.get(..1) else { return };
        let text = &message[1..];
        match kind {
            "r" => self.result = Some(text.to_owned()),
            "l" => {
                if let Ok((level, text)) = serde_json::from_str::<(LogLevel, String)>(text) {
                    lines.log(level, &text);
                }
            }
            "e" => {
                if let Ok(Failure { message, line, column, stack, limit }) = serde_json::from_str(text) {
                    let kind = if limit { ErrorKind::Limit } else { ErrorKind::Script };
                    let limit = limit.then_some(Limit::Result);
                    let stack =
                        stack.iter().take(MOST_FUNCTIONS).map(|function| excerpt(function, LONGEST_FUNCTION).into_owned()).collect();
                    let message = excerpt(&message, LONGEST_MESSAGE);
                    self.error = Some(JobError { line, column, stack, limit, ..JobError::new(kind, message) });
                }
            }
            _ => {}
        }
    }

    /// Returns the result.
    pub(super) fn output(&self, limits: &Limits) -> Result<Output, JobError> {
        let text = match self.result.as_deref() {
            None | Some("null") => return Ok(Output { text: String::new(), format: OutputFormat::Empty }),
            Some(text) => text,
        };
        if let Ok(text) = serde_json::from_str::<String>(text) {
            return if text.len() > limits.result {
                Err(result_is_too_long(limits))
            } else {
                Ok(Output { text, format: OutputFormat::Text })
            };
        }
        let text = exact(text, "result").map_err(|beyond| JobError::new(ErrorKind::Script, beyond.to_string()))?;
        Ok(Output { text: json_of(&text, limits)?, format: OutputFormat::Json })
    }
}

/// Returns the text of a JSON value in the form of results.
pub(super) fn json_of(text: &str, limits: &Limits) -> Result<String, JobError> {
    let refused = |message: String| JobError::new(ErrorKind::Script, format!("the result {message}"));
    let json: Json = serde_json::from_str(text).map_err(|error| refused(format!("is no JSON: {error}")))?;
    if depth(json.as_str()) > Limits::RESULT_DEPTH {
        let error = refused(format!("is nested deeper than {} ({FIXED})", Limits::RESULT_DEPTH));
        return Err(JobError { kind: ErrorKind::Limit, limit: Some(Limit::Result), ..error });
    }
    // The conversion may remove white space, but also add escapes.
    if json.as_str().len() > limits.result { Err(result_is_too_long(limits)) } else { Ok(json.as_str().to_owned()) }
}

/// Returns the nesting depth of arrays and objects in a JSON text.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_what_lies_in_each_other_and_no_texts() {
        for (json, deep) in [("1", 0), ("[]", 1), (r#"{"a":[1],"b":{"c":[]}}"#, 3), (r#"["[[[","\"[["]"#, 1)] {
            assert_eq!(depth(json), deep, "{json}");
        }
    }

    /// Returns the result of messages that are written in two pieces.
    fn told(limits: &Limits, messages: &str) -> Result<Output, JobError> {
        let (mut answer, mut lines) = (Answer::told(limits), JobLines::new(limits));
        let (begin, end) = messages.as_bytes().split_at(messages.len() / 2);
        answer.wrote(begin, &mut lines);
        answer.wrote(end, &mut lines);
        let Answer::Messages(told) = answer else { unreachable!() };
        told.error.clone().map_or_else(|| told.output(limits), Err)
    }

    #[test]
    fn a_message_as_long_as_its_limits_allow_is_taken_and_a_longer_one_is_an_error() {
        let limits = Limits { result: 1000, log: 10, ..Limits::default() };
        let text = "\u{1}".repeat(1000);
        assert_eq!(told(&limits, &format!("r\"{}\"\n", "\\u0001".repeat(1000))).unwrap().text, text);
        let stack = serde_json::json!(vec!["f".repeat(400); MOST_FUNCTIONS]);
        let error = serde_json::json!({ "message": text, "line": 1, "column": null, "stack": stack, "limit": false });
        assert_eq!(told(&limits, &format!("e{error}\n")).unwrap_err().message, text);
        let longer = "x".repeat(LONGEST_MESSAGE + 1);
        let error = serde_json::json!({ "message": longer, "line": 1, "column": null, "stack": [], "limit": false });
        assert_eq!(told(&limits, &format!("e{error}\n")).unwrap_err().message, format!("{}…", &longer[1..]));
        let long = "x".repeat(200 << 10);
        assert_eq!(told(&limits, &format!("r\"{long}\"\n")).unwrap_err().limit, Some(Limit::Result));
        assert_eq!(told(&limits, &format!("r1\ne{long}\n")).unwrap_err().kind, ErrorKind::Script);
        // An over-long log message is dropped, and an invalid message is ignored.
        assert_eq!(told(&limits, &format!("r1\nl{long}\n{long}\n")).unwrap().text, "1");
    }
}
