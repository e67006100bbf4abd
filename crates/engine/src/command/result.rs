//! Makes the result of a job from the end of its command and the output on the descriptor of its result.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};

use super::answer::{Answer, json_of};
use super::ending::Ending;
use super::job_process::Ended;
use crate::Limits;
use crate::limits::{FIXED, cpu_time_is_over, result_is_too_long, size};
use hero_model::{ErrorKind, JobError, Json, Limit, Output, OutputFormat, exact};
use hero_process::held::{Exceeded, HIDES, MAX_DIRECTORY_DEPTH, MEMORY_FACTOR, MOST_BYTES, MOST_DESCRIPTORS, MOST_FILES, MOST_PROCESSES};

/// The exit code of `hero exec` if it cannot execute the program.
const NOT_STARTED: i32 = 125;
/// The prefix of its message.
const SAID_BY_EXEC: &str = "hero exec: ";

/// The result of a job whose process has ended.
pub(super) fn result(ended: &Ended, limits: &Limits) -> Result<Output, JobError> {
    if let Some(ending) = ended.ending {
        return Err(ended_early(ending, limits));
    }
    // The script runner has reported the script's error.
    if let Answer::Messages(told) = &ended.answer
        && let Some(error) = &told.error
    {
        return Err(error.clone());
    }
    match (failure(ended), &ended.answer) {
        (Some(error), _) => Err(error),
        (None, Answer::Written { bytes, .. }) => output(bytes, limits),
        (None, Answer::Messages(told)) => told.output(limits),
    }
}

/// The error of a job that was ended.
fn ended_early(ending: Ending, limits: &Limits) -> JobError {
    match ending {
        Ending::Stopped => JobError::new(ErrorKind::Stopped, "stopped_by_request"),
        Ending::Timeout => JobError::new(ErrorKind::Timeout, "timeout"),
        Ending::CpuTime => {
            let error = JobError::new(ErrorKind::Limit, cpu_time_is_over(limits.cpu_time));
            JobError { limit: Some(Limit::CpuTime), ..error }
        }
        Ending::Exceeded(Exceeded::Processes) => had_more(format!("{MOST_PROCESSES} processes ({FIXED})")),
        Ending::Exceeded(Exceeded::Descriptors) => {
            had_more(format!("{MOST_DESCRIPTORS} open files, pipes and sockets in all its processes ({FIXED})"))
        }
        Ending::Exceeded(Exceeded::Memory(most)) => too_much_memory(most),
        Ending::Exceeded(Exceeded::Hidden) => JobError::new(ErrorKind::Limit, format!("the job {HIDES}")),
        Ending::Exceeded(Exceeded::Disk) => {
            let (bytes, what) = (size(MOST_BYTES), "files and directories");
            had_more(format!(
                "{bytes} on the disk, or {MOST_FILES} {what}, or directories nested deeper than {MAX_DIRECTORY_DEPTH} ({FIXED})"
            ))
        }
    }
}

/// The error of a job whose processes had more than `most` bytes together.
pub(crate) fn too_much_memory(most: u64) -> JobError {
    let error = had_more(format!("{} of memory in all its processes: {MEMORY_FACTOR} times what one may have", size(most)));
    JobError { limit: Some(Limit::Memory), ..error }
}

fn had_more(than: String) -> JobError {
    JobError::new(ErrorKind::Limit, format!("the job had more than {than}"))
}

/// Returns the error of a process that failed, if it did.
fn failure(ended: &Ended) -> Option<JobError> {
    let last = ended.last_lines.last().map(String::as_str);
    let because = |how: String| ended.cause.as_ref().map_or_else(|| how.clone(), |line| format!("{how}: {line}"));
    let error = |message: String, data: Value| JobError { data: Some(Json::from(data)), ..JobError::new(ErrorKind::Script, message) };
    let Some(status) = ended.status else {
        return Some(JobError::new(ErrorKind::Unavailable, "it is not known how the process ended: something else waited for it"));
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => None,
        (Some(NOT_STARTED), _) if last.is_some_and(|line| line.starts_with(SAID_BY_EXEC)) => {
            Some(JobError::new(ErrorKind::Unavailable, last.unwrap_or_default().trim_start_matches(SAID_BY_EXEC)))
        }
        (Some(code), _) => Some(error(because(format!("exit code {code}")), json!({ "exit_code": code, "stderr": ended.last_lines }))),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            let how = format!("ended by signal {signal}{}", name(signal));
            Some(error(because(how), json!({ "signal": signal, "stderr": ended.last_lines })))
        }
    }
}

fn name(signal: i32) -> &'static str {
    match signal {
        6 => " (abort)",
        9 => " (kill)",
        11 => " (segmentation fault)",
        15 => " (terminate)",
        24 => " (too much processor time)",
        25 => " (a file became too large)",
        31 => " (a forbidden system call)",
        _ => "",
    }
}

/// Makes the result from a command's output: JSON if it is valid JSON, else text. A final line break is removed.
fn output(written: &[u8], limits: &Limits) -> Result<Output, JobError> {
    if written.len() > limits.result {
        return Err(result_is_too_long(limits));
    }
    let text =
        std::str::from_utf8(written).map_err(|error| JobError::new(ErrorKind::Script, format!("the result is not UTF-8 text: {error}")))?;
    let text = text.strip_suffix('\n').map_or(text, |text| text.strip_suffix('\r').unwrap_or(text));
    if text.is_empty() {
        return Ok(Output { text: String::new(), format: OutputFormat::Empty });
    }
    // A number that would be rounded stays as it was written.
    match exact(text, "result").ok().and_then(|text| json_of(&text, limits).ok()) {
        Some(json) => Ok(Output { text: json, format: OutputFormat::Json }),
        None => Ok(Output { text: text.to_owned(), format: OutputFormat::Text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_json_if_it_can_be_and_else_a_text() {
        let of = |written: &str| output(written.as_bytes(), &Limits::default()).map(|output| (output.text, output.format));
        for (written, text, format) in [
            ("", "", OutputFormat::Empty),
            ("\n", "", OutputFormat::Empty),
            ("42\n", "42", OutputFormat::Json),
            ("{ \"a\": [1, -0] }", r#"{"a":[1,0]}"#, OutputFormat::Json),
            ("\"x\"\r\n", "\"x\"", OutputFormat::Json),
            ("hello\nyou\n", "hello\nyou", OutputFormat::Text),
            ("99999999999999999999", "99999999999999999999", OutputFormat::Text),
        ] {
            assert_eq!(of(written).unwrap(), (text.to_owned(), format), "{written:?}");
        }
        let long = "x".repeat(Limits::default().result + 1);
        assert_eq!(of(&long).unwrap_err().limit, Some(Limit::Result));
        assert!(output(b"\xff", &Limits::default()).unwrap_err().message.contains("not UTF-8"));
    }
}
