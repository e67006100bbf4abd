//! Invariants that hold for any input of an engine. The targets in `fuzz/` call these functions, and so do the tests
//! below, on any toolchain.
//!
//! Each makes its input from arbitrary bytes, and panics if an invariant does not hold.

use std::borrow::Cow;
use std::fmt::Debug;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::{FrameError, FromEngine, Inbox, ToEngine, encode};
use super::{
    Capability, EngineJob, FileCall, HostCall, JobCall, Limits, LogRecord, Names, NetCall, ProcessCall, RedisCall, RedisCommand,
    ResourceCall, rhai,
};
use hero_model::{ContextId, ErrorKind, JobError, JobId, Json, LogLevel, Output, OutputFormat, Usage};

/// Parses a text as HeroScript, and prints the result.
pub fn heroscript(bytes: &[u8]) {
    rhai::fuzzing::heroscript(&String::from_utf8_lossy(bytes));
}

/// Makes a value of scripts from the bytes, and uses it in every way.
pub fn result(bytes: &[u8]) {
    rhai::fuzzing::result(bytes);
}

/// Splits the data on the socket of an engine at any positions, in both directions: valid and invalid frames.
pub fn frames(bytes: &[u8]) {
    let (cuts, rest) = bytes.split_at(bytes.len().min(8));
    for stream in [rest.to_vec(), framed(rest)] {
        same_however_cut::<ToEngine<'_>>(&stream, cuts);
        same_however_cut::<FromEngine>(&stream, cuts);
    }
    let texts: Vec<String> = rest.split(|byte| *byte == b'|').map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    survive(&texts.iter().flat_map(|text| to_engine(text)).collect::<Vec<_>>(), cuts);
    survive(&texts.iter().flat_map(|text| from_engine(text)).collect::<Vec<_>>(), cuts);
}

/// Splits the bytes into parts, each with its length before it.
fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = |part: &[u8]| u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes();
    bytes.split(|byte| *byte == b'|').flat_map(|part| [&length(part)[..], part].concat()).collect()
}

/// Splits a stream into pieces whose lengths the cuts give.
fn pieces<'s>(stream: &'s [u8], cuts: &[u8]) -> Vec<&'s [u8]> {
    let (mut pieces, mut rest) = (Vec::new(), stream);
    let mut cuts = cuts.iter().cycle();
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(rest.len().min(usize::from(*cuts.next().unwrap_or(&0)) + 1));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Returns the frames taken from these pieces. An unreadable frame is `None`; after a frame that is too large nothing
/// more is taken.
fn taken<T: DeserializeOwned>(pieces: &[&[u8]]) -> Vec<Option<T>> {
    let (mut inbox, mut taken) = (Inbox::default(), Vec::new());
    for piece in pieces {
        inbox.room().extend_from_slice(piece);
        loop {
            match inbox.take() {
                Ok(Some(frame)) => taken.push(Some(frame)),
                Ok(None) => break,
                Err(FrameError::Unreadable(_)) => taken.push(None),
                Err(FrameError::TooLarge(_)) => return taken,
            }
        }
    }
    taken
}

fn same_however_cut<T: DeserializeOwned + Serialize + PartialEq + Debug>(stream: &[u8], cuts: &[u8]) {
    let whole = taken::<T>(&[stream]);
    assert_eq!(whole, taken::<T>(&pieces(stream, cuts)));
    survive(&whole.into_iter().flatten().collect::<Vec<_>>(), cuts);
}

/// Checks that every sent frame is received.
fn survive<T: DeserializeOwned + Serialize + PartialEq + Debug>(sent: &[T], cuts: &[u8]) {
    let mut stream = Vec::new();
    for frame in sent {
        encode(frame, &mut stream).unwrap_or_else(|error| panic!("{error}: {frame:?}"));
    }
    let received: Vec<Option<T>> = taken(&pieces(&stream, cuts));
    assert!(received.iter().map(Option::as_ref).eq(sent.iter().map(Some)), "{sent:?} was received as {received:?}");
}

/// Parses a text as JSON, if it is valid. `null` means absent.
fn json(text: &str) -> Option<Json> {
    serde_json::from_str(text).ok().filter(|json: &Json| json.as_str() != "null")
}

/// Returns one of each frame that a worker sends.
fn to_engine(text: &str) -> [ToEngine<'static>; 5] {
    let number = u32::try_from(text.len()).unwrap_or(u32::MAX);
    let job = EngineJob {
        job_id: JobId::random(),
        caller_id: text.to_owned(),
        context_id: ContextId(number),
        attempt: number,
        script: text.to_owned(),
        args: json(text),
        env: [(text.to_owned(), text.to_owned())].into(),
        timeout: Duration::from_nanos(u64::from(number).wrapping_mul(u64::MAX / 7)),
    };
    let limits = Limits { memory: u64::from(number), ..Limits::default() };
    [
        ToEngine::Hello { limits: Cow::Owned(limits), capabilities: Cow::Borrowed(&Capability::ALL), program: Cow::default() },
        ToEngine::Run { job: Cow::Owned(job), in_repl: number.is_multiple_of(2) },
        ToEngine::Check { script: Cow::Owned(text.to_owned()), names: Names::Checked },
        ToEngine::Answer { answer: json(text).ok_or_else(|| text.to_owned()) },
        ToEngine::Stop,
    ]
}

/// Returns one of each frame that an engine sends.
fn from_engine(text: &str) -> [FromEngine; 6] {
    let number = u64::try_from(text.len()).unwrap_or(u64::MAX);
    let host_call = match (json(text), number % 4) {
        (Some(spec), _) => JobCall::Spawn { spec, as_continuation: number.is_multiple_of(2) }.into(),
        (None, kind) => HostCall::Resource(match kind {
            0 => ResourceCall::Files(FileCall::Write { path: text.to_owned(), text: text.to_owned(), append: true }),
            1 => ResourceCall::Processes(ProcessCall::Run { command: text.to_owned() }),
            2 => ResourceCall::Net(NetCall::HttpGet { url: text.to_owned(), headers: [(text.to_owned(), text.to_owned())].into() }),
            _ => ResourceCall::Redis(RedisCall { command: RedisCommand::LRange, arguments: vec![text.to_owned(); 3] }),
        }),
    };
    let error = JobError { line: Some(1), stack: vec![text.to_owned()], data: json(text), ..JobError::new(ErrorKind::Script, text) };
    let usage = Usage { operations: number, peak_memory: u64::MAX, ..Usage::default() };
    let output = Output { text: text.to_owned(), format: OutputFormat::Text };
    [
        FromEngine::Ready { pid: 1, confinement: text.to_owned() },
        FromEngine::Checked { error: Some(error.clone()) },
        FromEngine::Ask { host_call },
        FromEngine::Log(vec![LogRecord { level: LogLevel::Warn, text: text.to_owned() }; text.len() % 3]),
        FromEngine::Done { result: Ok(output), usage, allocated: number },
        FromEngine::Done { result: Err(error), usage, allocated: 0 },
    ]
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    /// Bytes that contain words of the syntax more often than random bytes would.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let words = [
            "!!a.b",
            "!!sum ",
            "\n",
            "\n  ",
            " ",
            "// c\n",
            "k:",
            "'",
            "\"",
            "''",
            "[",
            "]",
            ",",
            "://",
            "a,b",
            "\\",
            "é",
            "\u{202e}",
            "{\"stop\"",
            "\"stop\"",
            "{\"check\":{\"script\":\"",
            "\"}}",
            "{\"log\":[]}",
            "|",
            "[1e400]",
            "-0.0",
            "null",
            "\0\0\0",
            "\x04\0\0\0",
        ];
        let word = prop::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec());
        let part = prop_oneof![3 => word, 2 => prop::collection::vec(any::<u8>(), 1..6), 1 => any::<char>().prop_map(|c| c.to_string().into_bytes())];
        prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
    }

    proptest! {
        // These cases are small, so there are twenty times as many as elsewhere.
        #![proptest_config(ProptestConfig { cases: 20 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_as_heroscript_and_what_was_read_is_printed_so_that_it_is_read_again(bytes in bytes()) {
            heroscript(&bytes);
        }

        #[test]
        fn frames_are_received_as_they_were_sent_however_they_are_cut(bytes in bytes()) {
            frames(&bytes);
        }

        #[test]
        fn results_of_any_value_are_bounded_and_survive_a_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            result(&bytes);
        }
    }

    #[test]
    fn the_seeds_hold() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
        for (folder, target) in [("heroscript", heroscript as fn(&[u8])), ("frames", frames), ("result", result)] {
            let files: Vec<_> = std::fs::read_dir(seeds.join(folder)).unwrap().collect();
            assert!(files.len() >= 5, "{folder}");
            for file in files {
                target(&std::fs::read(file.unwrap().path()).unwrap());
            }
        }
    }
}
