//! Host calls of a job's process: each is one line on a separate socket, and so is each answer.
//!
//! Host calls are handled one after another. While one is not answered, or its answer was not read, nothing more is
//! read from the socket. So the longest host call, the longest answer, and the socket bound the data that a process can
//! leave here.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::buffer::spare_capacity;
use rustix::event::PollFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::lines::JobLines;
use super::spawned;
use crate::limits::size;
use crate::{Answer, HostCall, JobCall};
use hero_model::{Input, Json, LogLevel, Progress, excerpt};

/// The size of one read, in bytes.
const READ_BYTES: usize = 64 << 10;
/// The maximum number of consecutive reads.
const MAX_CONSECUTIVE_READS: usize = 16;
/// The maximum length of a host call.
const MAX_HOST_CALL_BYTES: usize = 2 << 20;
/// The maximum number of characters of an invalid host call in an error.
const MAX_SHOWN_CHARS: usize = 100;
/// The valid host calls, for people.
const WORDS: &str = "progress, spawn, then, inputs and slot";

/// The host calls of one job.
#[derive(Default)]
pub(super) struct Asking {
    /// `None` for processes without host calls, and when there is nothing more to read.
    socket: Option<UnixStream>,
    /// Received data that is not handled yet.
    read: VecDeque<u8>,
    /// The number of whole lines in it.
    lines: usize,
    /// True if the current line is longer than any host call.
    skipped: bool,
    /// The host call that the worker has not answered.
    asked: Option<AnswerUse>,
    /// Answers that the process has not read.
    unread: Vec<u8>,
    /// True if nobody can read answers any more.
    is_deaf: bool,
    /// True if the socket may have more data than was read.
    has_more: bool,
}

/// What to do with the answer to a host call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerUse {
    /// Pass it on unchanged.
    Value,
    /// Convert it to the outputs by the names of their jobs.
    Inputs,
    /// Drop it: nobody waits for it.
    Progress,
}

impl Asking {
    /// Reads the host calls of a process that has the other end of this socket.
    pub(super) fn on(socket: UnixStream) -> Self {
        Self { socket: Some(socket), ..Self::default() }
    }

    /// Returns the events to poll for, if any.
    pub(super) fn awaited(&self) -> Option<(BorrowedFd<'_>, PollFlags)> {
        let flags = match (self.unread.is_empty(), self.asked) {
            (false, _) => PollFlags::OUT,
            (true, None) => PollFlags::IN,
            (true, Some(_)) => return None,
        };
        Some((self.socket.as_ref()?.as_fd(), flags))
    }

    /// Stops answering. Host calls already received still take effect, if they have any.
    pub(super) fn end(&mut self) {
        self.is_deaf = true;
    }

    /// Whether there may be another host call, although the last read found none.
    pub(super) fn has_more(&self) -> bool {
        self.has_more
    }

    /// Whether a host call waits for the worker's answer.
    pub(super) fn is_waiting(&self) -> bool {
        self.asked.is_some()
    }

    /// Reads and writes without blocking, and returns the next host call for the worker.
    ///
    /// The process gets an error for an invalid host call. Once the job `is_ending`, no further host call takes effect.
    pub(super) fn next(&mut self, is_ending: bool, lines: &mut JobLines) -> Option<HostCall> {
        self.flush();
        if self.asked.is_some() || !self.unread.is_empty() {
            return None;
        }
        self.fill();
        while self.unread.is_empty() && self.lines > 0 {
            match self.line().and_then(|line| self.host_call(&line, is_ending, lines)) {
                Ok(None) => {}
                Ok(Some((host_call, asked))) => {
                    self.asked = Some(asked);
                    return Some(host_call);
                }
                Err(wrong) => self.write(&Err(wrong)),
            }
        }
        None
    }

    /// Passes on an answer of the worker.
    pub(super) fn answered(&mut self, answer: Answer) {
        let answer = match self.asked.take() {
            // The answer is too late, or nobody waits for it.
            None | Some(AnswerUse::Progress) => return,
            Some(AnswerUse::Value) => answer,
            Some(AnswerUse::Inputs) => answer.and_then(|answer| by_name(&answer)),
        };
        self.write(&answer);
    }

    /// Takes the next of the whole lines that were read. There must be one.
    fn line(&mut self) -> Result<String, String> {
        let end = self.read.iter().position(|byte| *byte == b'\n').unwrap_or(self.read.len());
        let line: Vec<u8> = self.read.drain(..(end + 1).min(self.read.len())).collect();
        self.lines -= 1;
        if std::mem::take(&mut self.skipped) || line.len() > MAX_HOST_CALL_BYTES {
            return Err(format!("a host call has {} at most", size(MAX_HOST_CALL_BYTES)));
        }
        Ok(String::from_utf8_lossy(&line).trim().to_owned())
    }

    /// Parses a line. An empty line is ignored. An error in a progress is logged, because nobody waits for its answer.
    fn host_call(&self, line: &str, is_ending: bool, lines: &mut JobLines) -> Result<Option<(HostCall, AnswerUse)>, String> {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" => Ok(None),
            "progress" => match progress(text) {
                Ok(_) if is_ending || self.another_follows(line) => Ok(None),
                Ok(progress) => Ok(Some((HostCall::Progress(progress), AnswerUse::Progress))),
                Err(wrong) => {
                    lines.log(LogLevel::Warn, &wrong);
                    Ok(None)
                }
            },
            _ if is_ending => Err("the job is being ended".to_owned()),
            // Nobody would read the answer.
            "inputs" | "slot" if self.is_deaf => Ok(None),
            _ => host_call(word, text.trim()).map(Some),
        }
    }

    /// Whether the next line is a newer progress.
    fn another_follows(&self, line: &str) -> bool {
        let word = b"progress ";
        self.lines > 0 && line.len() > word.len() && self.read.iter().take(word.len()).eq(word)
    }

    /// Reads until there is a whole line or no more data. The amount is bounded, so that others do not wait.
    fn fill(&mut self) {
        let mut piece = Vec::new();
        for _ in 0..MAX_CONSECUTIVE_READS {
            let Some(socket) = self.socket.as_ref().filter(|_| self.lines == 0) else { return };
            piece.clear();
            piece.reserve(READ_BYTES);
            let read = recv(socket, spare_capacity(&mut piece), RecvFlags::DONTWAIT);
            self.has_more = matches!(read, Ok((1.., _)) | Err(Errno::INTR));
            match read {
                Ok((1.., _)) => {
                    self.lines += piece.iter().filter(|byte| **byte == b'\n').count();
                    self.read.extend(&piece);
                    if self.lines == 0 && self.read.len() > MAX_HOST_CALL_BYTES {
                        // The beginning of a line that is far too long is not kept.
                        self.read.clear();
                        self.skipped = true;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Ok((0, _)) | Err(_) => self.socket = None,
            }
        }
    }

    fn write(&mut self, answer: &Answer) {
        let line = match answer {
            Ok(value) => format!("ok {}", plain(value)),
            Err(refusal) => format!("error {}", refusal.replace(['\n', '\r'], " ")),
        };
        self.unread.extend_from_slice(line.trim_end().as_bytes());
        self.unread.push(b'\n');
        self.flush();
    }

    /// Writes as much as the socket takes.
    fn flush(&mut self) {
        while let Some(socket) = self.socket.as_ref().filter(|_| !self.is_deaf && !self.unread.is_empty()) {
            match send(socket, &self.unread, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => drop(self.unread.drain(..sent)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                // Host calls sent earlier are still in the socket.
                Err(_) => self.is_deaf = true,
            }
        }
        self.unread.clear();
    }
}

/// Parses `progress NUMBER [TEXT]`.
fn progress(text: &str) -> Result<Progress, String> {
    let (number, text) = text.trim_start().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    match number.parse::<f64>().ok().filter(|number| number.is_finite()) {
        Some(value) => Ok(Progress { value, text: text.trim().to_owned() }),
        None => Err(format!("progress: {:?} is not a finite number; a line is `progress NUMBER TEXT`", excerpt(number, MAX_SHOWN_CHARS))),
    }
}

/// Parses any other host call.
fn host_call(word: &str, text: &str) -> Result<(HostCall, AnswerUse), String> {
    match (word, text) {
        ("spawn" | "then", spec) => {
            let spec = spawned::read(spec).map_err(|wrong| format!("the job is not what a job may be: {wrong}"))?;
            Ok((HostCall::Jobs(JobCall::Spawn { spec, as_continuation: word == "then" }), AnswerUse::Value))
        }
        ("inputs", "") => Ok((HostCall::Jobs(JobCall::Inputs), AnswerUse::Inputs)),
        ("slot", "") => Ok((HostCall::Jobs(JobCall::Occurrence), AnswerUse::Value)),
        ("inputs" | "slot", more) => Err(format!("{word} stands alone, without {:?}", excerpt(more, MAX_SHOWN_CHARS))),
        _ => Err(format!("nobody asks {:?}; there are {WORDS}", excerpt(word, MAX_SHOWN_CHARS))),
    }
}

/// Returns the outputs of prerequisites, each once: by its name, or by its id ([`Input::keys`]).
fn by_name(answer: &Json) -> Answer {
    let inputs: Vec<Input> = serde_json::from_str(answer.as_str()).map_err(|error| error.to_string())?;
    let all: BTreeMap<&str, &Json> = Input::keys(&inputs).into_iter().zip(inputs.iter().map(|input| &input.value)).collect();
    serde_json::to_string(&all).and_then(|text| serde_json::from_str(&text)).map_err(|error| error.to_string())
}

/// Formats a value after `ok`: a text unchanged, nothing for `null`, anything else as JSON.
fn plain(value: &Json) -> String {
    match value.as_str() {
        "null" => String::new(),
        json => serde_json::from_str::<String>(json).map_or_else(|_| json.to_owned(), |text| text.replace(['\n', '\r'], " ")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;
    use crate::Limits;

    fn asking() -> (Asking, UnixStream, JobLines) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (Asking::on(ours), theirs, JobLines::new(&Limits::default()))
    }

    /// Returns the data that can be read without blocking.
    fn heard(socket: &mut UnixStream) -> String {
        socket.set_nonblocking(true).unwrap();
        let mut heard = Vec::new();
        let _ = socket.read_to_end(&mut heard);
        String::from_utf8(heard).unwrap()
    }

    #[test]
    fn questions_are_asked_one_after_another_and_answered_in_order() {
        let (mut asking, mut theirs, mut lines) = asking();
        theirs.write_all(b"spawn {\"script\": \"1\"}\n\nprogress 40 half of it\nslot\ninp").unwrap();
        let spec = serde_json::from_str("{\"script\":\"1\"}").unwrap();
        assert_eq!(asking.next(false, &mut lines), Some(HostCall::Jobs(JobCall::Spawn { spec, as_continuation: false })));
        assert_eq!((asking.next(false, &mut lines), asking.awaited().is_none()), (None, true));
        asking.answered(Ok(json!("some-id").into()));
        assert_eq!(asking.next(false, &mut lines), Some(HostCall::Progress(Progress { value: 40.0, text: "half of it".into() })));
        asking.answered(Ok(json!(null).into()));
        assert_eq!(asking.next(false, &mut lines), Some(HostCall::Jobs(JobCall::Occurrence)));
        asking.answered(Ok(json!(null).into()));
        assert_eq!(asking.next(false, &mut lines), None);
        theirs.write_all(b"uts\n").unwrap();
        assert_eq!(asking.next(false, &mut lines), Some(HostCall::Jobs(JobCall::Inputs)));
        let (one, other) = ("00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002");
        asking.answered(Ok(json!([{ "job_id": one, "name": "a", "value": [1] }, { "job_id": other, "name": null, "value": "x" }]).into()));
        assert_eq!(heard(&mut theirs), format!("ok some-id\nok\nok {{\"{other}\":\"x\",\"a\":[1]}}\n"));
        assert!(lines.take().is_empty());
    }

    #[test]
    fn unknown_host_calls_are_answered_and_bad_progress_is_logged() {
        let (mut asking, mut theirs, mut lines) = asking();
        theirs
            .write_all(b"spwan {}\nspawn {\"a\":99999999999999999999}\nthen {\nslot now\nprogress soon\nprogress\nprogress nan\n")
            .unwrap();
        let mut answers = String::new();
        for _ in 0..10 {
            answers += &heard(&mut theirs);
            assert_eq!(asking.next(false, &mut lines), None);
        }
        let answers: Vec<&str> = answers.lines().collect();
        assert!(answers.len() == 4 && answers.iter().all(|answer| answer.starts_with("error ")), "{answers:?}");
        assert!(
            answers[0].contains("there are progress") && answers[1].contains("99999999999999999999") && answers[3].contains("stands alone")
        );
        let logged = lines.take();
        assert!(logged.len() == 3 && logged[0].text.contains("\"soon\" is not a finite number"), "{logged:?}");
        theirs.write_all(b"slot\nprogress 1\n").unwrap();
        assert_eq!(asking.next(true, &mut lines), None);
        assert_eq!(heard(&mut theirs), "error the job is being ended\n");
    }

    #[test]
    fn one_who_writes_without_end_does_not_keep_others_waiting() {
        const FAR_MORE: usize = 512 << 20;
        let (mut asking, theirs, mut lines) = asking();
        let (written, is_enough) = (AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let piece = vec![b'x'; READ_BYTES];
                    while !is_enough.load(Ordering::Relaxed) && written.load(Ordering::Relaxed) < FAR_MORE {
                        written.fetch_add((&theirs).write(&piece).unwrap_or(0), Ordering::Relaxed);
                    }
                });
            }
            let mut most = 0;
            for _ in 0..100 {
                let before = written.load(Ordering::Relaxed);
                assert_eq!(asking.next(false, &mut lines), None);
                most = (written.load(Ordering::Relaxed) - before).max(most);
            }
            is_enough.store(true, Ordering::Relaxed);
            asking.socket = None;
            // Data that was in the socket before, and data that arrived during the reads.
            assert!(most <= 2 * MAX_CONSECUTIVE_READS * READ_BYTES, "{most}");
        });
    }

    #[test]
    fn what_a_process_leaves_here_is_bounded() {
        let (mut asking, mut theirs, mut lines) = asking();
        theirs.set_nonblocking(true).unwrap();
        let piece = vec![b'x'; 1 << 20];
        for _ in 0..40 {
            let _ = theirs.write(&piece);
            assert_eq!(asking.next(false, &mut lines), None);
            assert!(asking.read.len() <= MAX_HOST_CALL_BYTES + READ_BYTES, "{}", asking.read.len());
        }
        while theirs.write(b"\n").is_err() {
            assert_eq!(asking.next(false, &mut lines), None);
        }
        assert_eq!(asking.next(false, &mut lines), None);
        assert!(heard(&mut theirs).contains("2 MB at most"));
        // Nobody reads the answers, so nothing more is read.
        for _ in 0..100_000 {
            let _ = theirs.write(b"what\n");
            assert_eq!(asking.next(false, &mut lines), None);
        }
        assert!(asking.read.len() + asking.unread.len() < 2 * READ_BYTES && asking.awaited().unwrap().1 == PollFlags::OUT);
        drop(theirs);
        while asking.awaited().is_some() {
            assert_eq!(asking.next(false, &mut lines), None);
        }
    }

    #[test]
    fn what_a_process_asked_before_it_ended_is_still_asked_and_of_its_progress_the_newest() {
        let (mut asking, mut theirs, mut lines) = asking();
        // More host calls than one read takes, whose answers nobody would read.
        theirs.write_all(&b"slot\n".repeat(READ_BYTES / 4)).unwrap();
        theirs.write_all(b"spawn {}\nprogress 1\nprogress 2\nprogress 3 x\nslot\nprogress 4\n").unwrap();
        drop(theirs);
        asking.end();
        let mut asked = Vec::new();
        loop {
            match asking.next(false, &mut lines) {
                Some(host_call) => asked.push(host_call),
                None if asking.has_more() => continue,
                None => break,
            }
            asking.answered(Err("gone".to_owned()));
        }
        let told = |value, text: &str| HostCall::Progress(Progress { value, text: text.to_owned() });
        let spawn = HostCall::Jobs(JobCall::Spawn { spec: serde_json::from_str("{}").unwrap(), as_continuation: false });
        assert_eq!(asked, [spawn, told(3.0, "x"), told(4.0, "")]);
    }
}
