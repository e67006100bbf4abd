//! The frames on the socketpair between a worker and its engine: a length (u32, little endian), then that many bytes of JSON.
//!
//! The parent sends `hello`, the engine answers `ready`; then for each `run` there are any number of `log` and one
//! `done`. Between `run` and `done` the parent may send one `stop`. Because the socket keeps the order, a `stop` that
//! crosses a `done` is read before the next `run` and ignored. While a job runs the engine may `ask`, one host call at
//! a time, and waits for the parent's `answer`; an answer that crosses a `done` is also ignored. Between jobs the
//! parent may send `check`, and the engine answers with `checked`.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::limits::size;
use super::{Answer, Capability, EngineJob, HostCall, Limits, LogRecord, Names, Program};
use hero_model::{ErrorKind, JobError, Limit, Output, Usage, excerpt};

/// The largest frame, without its length. Larger ones are refused on both sides.
pub const MAX_FRAME: usize = 16 << 20;

const HEADER_BYTES: usize = 4;
/// The maximum growth of a text as JSON, where each character may be escaped.
const MAX_ESCAPE_GROWTH: usize = 6;
/// The capacity that an empty buffer keeps. The rest is freed, so that one large frame does not occupy memory for ever.
const KEPT_CAPACITY_BYTES: usize = 64 << 10;

/// A frame from a worker to its engine.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToEngine<'a> {
    /// The first frame.
    Hello {
        /// The limits of each script.
        limits: Cow<'a, Limits>,
        /// The capabilities of each script.
        #[serde(default)]
        capabilities: Cow<'a, [Capability]>,
        /// The program that runs the scripts.
        #[serde(default)]
        program: Cow<'a, Program>,
    },
    /// Run this job and answer with `done`.
    Run {
        /// The job.
        job: Cow<'a, EngineJob>,
        /// True for the next line of a REPL, which sees the declarations of earlier lines.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        in_repl: bool,
    },
    /// Compile this script, do not run it, and answer with `checked`.
    Check {
        /// The script.
        script: Cow<'a, str>,
        /// Whether a call of an unknown function is an error.
        names: Names,
    },
    /// The answer to a host call of the running script.
    Answer {
        /// The answer, or why there is none.
        answer: Answer,
    },
    /// End the running script now.
    Stop,
}

/// A frame from an engine to its worker.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromEngine {
    /// The answer to `hello`.
    Ready {
        /// The process id of the engine.
        pid: u32,
        /// The report of the confinement.
        confinement: String,
    },
    /// The answer to `check`.
    Checked {
        /// The error in the script, if there is one.
        error: Option<JobError>,
    },
    /// A host call of the running script, which waits for the answer.
    Ask {
        /// The host call.
        host_call: HostCall,
    },
    /// The log since the last frame.
    Log(Vec<LogRecord>),
    /// The script has ended.
    Done {
        /// The returned value, or the error.
        result: Result<Output, JobError>,
        /// The usage of the script.
        usage: Usage,
        /// Bytes still allocated after the script: cached scripts, and memory that scripts leaked.
        allocated: u64,
    },
}

/// Why bytes are no frame, or a value cannot be a frame.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// Larger than [`MAX_FRAME`].
    #[error("frame of {0} bytes is above {MAX_FRAME}")]
    TooLarge(usize),
    /// Not the JSON of the expected type.
    #[error("frame is unreadable: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// Appends `frame` to `out`; after an error `out` is as it was.
pub fn encode(frame: &impl Serialize, out: &mut Vec<u8>) -> Result<(), FrameError> {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    if let Err(error) = serde_json::to_writer(&mut *out, frame) {
        out.truncate(start);
        return Err(error.into());
    }
    let length = out.len() - start - HEADER_BYTES;
    match u32::try_from(length) {
        Ok(header) if length <= MAX_FRAME => {
            out[start..start + HEADER_BYTES].copy_from_slice(&header.to_le_bytes());
            Ok(())
        }
        _ => {
            out.truncate(start);
            Err(FrameError::TooLarge(length))
        }
    }
}

/// Appends a frame of an engine. With its escapes it may be up to six times longer than its limits count. If it does
/// not fit, a smaller frame that says so is sent instead.
pub(super) fn encode_fitting(frame: FromEngine, out: &mut Vec<u8>) {
    let Err(error) = encode(&frame, out) else { return };
    match frame {
        FromEngine::Log(mut records) if records.len() > 1 => {
            let rest = records.split_off(records.len() / 2);
            encode_fitting(FromEngine::Log(records), out);
            encode_fitting(FromEngine::Log(rest), out);
        }
        FromEngine::Log(records) => {
            let cut =
                |record: LogRecord| LogRecord { text: excerpt(&record.text, MAX_FRAME / MAX_ESCAPE_GROWTH / 8).into_owned(), ..record };
            encode(&FromEngine::Log(records.into_iter().map(cut).collect()), out).expect("a line that was cut is a small frame");
        }
        FromEngine::Done { usage, allocated, .. } => {
            let message = format!("the result has more than {} as JSON, with its escapes (a fixed limit)", size(MAX_FRAME));
            let error = JobError { limit: Some(Limit::Result), ..JobError::new(ErrorKind::Limit, message) };
            encode(&FromEngine::Done { result: Err(error), usage, allocated }, out).expect("an error of ours is a small frame");
        }
        frame => unreachable!("host calls and greetings are capped far below a frame: {error}: {frame:?}"),
    }
}

/// Received bytes, split into frames.
#[derive(Debug, Default)]
pub struct Inbox {
    bytes: Vec<u8>,
    read: usize,
}

impl Inbox {
    /// Returns the buffer for received bytes, with free capacity.
    pub fn room(&mut self) -> &mut Vec<u8> {
        if self.read > 0 {
            self.bytes.drain(..self.read);
            self.read = 0;
        }
        // Reserves capacity for the rest of the current frame, so that a large one takes few reads. `take` refuses
        // lengths above the limit.
        let wanted = self.length().map_or(0, |length| (HEADER_BYTES + length.min(MAX_FRAME)).saturating_sub(self.bytes.len()));
        self.bytes.reserve(wanted.clamp(4096, 256 << 10));
        &mut self.bytes
    }

    /// Whether all received bytes were taken.
    pub fn is_empty(&self) -> bool {
        self.read == self.bytes.len()
    }

    /// Takes the next frame, or `None` while it is incomplete.
    ///
    /// A frame of the right length but with wrong content is skipped, so the next call continues after it. After
    /// [`FrameError::TooLarge`] nothing more can be read.
    pub fn take<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let Some(length) = self.length() else { return Ok(None) };
        if length > MAX_FRAME {
            return Err(FrameError::TooLarge(length));
        }
        let start = self.read + HEADER_BYTES;
        let Some(body) = self.bytes.get(start..start + length) else { return Ok(None) };
        let frame = serde_json::from_slice(body);
        self.read = start + length;
        if self.read == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(KEPT_CAPACITY_BYTES);
            self.read = 0;
        }
        Ok(Some(frame?))
    }

    /// The length in the header of the next frame.
    fn length(&self) -> Option<usize> {
        let header = self.bytes.get(self.read..)?.first_chunk::<HEADER_BYTES>()?;
        Some(u32::from_le_bytes(*header) as usize)
    }
}

/// Empties a send buffer, and frees the memory that a large frame needed.
pub(super) fn reset(out: &mut Vec<u8>) {
    out.clear();
    out.shrink_to(KEPT_CAPACITY_BYTES);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn run_frame(script: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(&ToEngine::Run { job: Cow::Owned(EngineJob::of(script)), in_repl: false }, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn no_input_panics(bytes: Vec<u8>) {
            let mut inbox = Inbox::default();
            inbox.room().extend_from_slice(&bytes);
            while let Ok(Some(_)) = inbox.take::<ToEngine<'_>>() {}
            let mut inbox = Inbox::default();
            inbox.room().extend_from_slice(&u32::try_from(bytes.len()).unwrap().to_le_bytes());
            inbox.room().extend_from_slice(&bytes);
            let _ = inbox.take::<FromEngine>();
        }

        #[test]
        fn frames_survive_any_cut(scripts: Vec<String>, cut in 1_usize..64) {
            let bytes: Vec<u8> = scripts.iter().flat_map(|script| run_frame(script)).collect();
            let mut inbox = Inbox::default();
            let mut seen = Vec::new();
            for piece in bytes.chunks(cut) {
                inbox.room().extend_from_slice(piece);
                while let Some(frame) = inbox.take::<ToEngine<'_>>().unwrap() {
                    let ToEngine::Run { job, .. } = frame else { panic!("not a job") };
                    seen.push(job.script.clone());
                }
            }
            prop_assert_eq!(seen, scripts);
        }
    }

    #[test]
    fn a_frame_above_the_cap_is_refused_on_both_sides() {
        let mut out = vec![7];
        assert!(matches!(encode(&"x".repeat(MAX_FRAME), &mut out), Err(FrameError::TooLarge(_))));
        assert_eq!(out, [7]);
        let mut inbox = Inbox::default();
        inbox.room().extend_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(inbox.take::<FromEngine>(), Err(FrameError::TooLarge(_))));
    }

    #[test]
    fn what_is_too_long_with_its_escapes_is_told_in_smaller_frames() {
        let record = |text: String| LogRecord { level: hero_model::LogLevel::Info, text };
        let mut out = Vec::new();
        encode_fitting(
            FromEngine::Log(vec![record("\u{1}".repeat(2 << 20)), record("\u{1}".repeat(2 << 20)), record("end".into())]),
            &mut out,
        );
        encode_fitting(FromEngine::Log(vec![record("\u{1}".repeat(4 << 20))]), &mut out);
        let output = Output { text: "\u{1}".repeat(4 << 20), format: hero_model::OutputFormat::Text };
        encode_fitting(FromEngine::Done { result: Ok(output), usage: Usage::default(), allocated: 0 }, &mut out);
        let mut inbox = Inbox::default();
        inbox.room().extend_from_slice(&out);
        let mut lengths = Vec::new();
        loop {
            match inbox.take::<FromEngine>().unwrap().unwrap() {
                FromEngine::Log(records) => lengths.extend(records.iter().map(|record| record.text.chars().count())),
                FromEngine::Done { result, .. } => {
                    assert_eq!(result.unwrap_err().limit, Some(Limit::Result));
                    break;
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(lengths.len(), 4);
        assert_eq!((lengths[0], lengths[1], lengths[2]), (2 << 20, 2 << 20, 3));
        assert!(lengths[3] > 100_000 && lengths[3] < 4 << 20);
    }

    #[test]
    fn an_unreadable_frame_is_skipped() {
        let mut inbox = Inbox::default();
        inbox.room().extend_from_slice(b"\x02\0\0\0{}");
        inbox.room().extend_from_slice(&run_frame("1"));
        assert!(inbox.take::<ToEngine<'_>>().is_err());
        assert!(matches!(inbox.take::<ToEngine<'_>>(), Ok(Some(ToEngine::Run { .. }))));
        assert!(inbox.take::<ToEngine<'_>>().unwrap().is_none());
    }
}
