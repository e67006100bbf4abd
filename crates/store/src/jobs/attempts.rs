use serde::Deserialize;

use crate::value::Text;
use hero_model::{Attempt, ErrorKind, Job, JobError, Limit, Status, Timestamp, Usage};

/// An attempt before the last as `attempts.lua` writes it, one attempt a line.
#[derive(Deserialize)]
struct Line {
    attempt: u32,
    actor: Option<String>,
    started_at: Option<String>,
    ended_at: Option<String>,
    error: Option<String>,
    error_kind: Option<String>,
    error_line: Option<String>,
    error_column: Option<String>,
    error_limit: Option<String>,
    usage: Option<String>,
}

impl Line {
    fn attempt(self) -> Attempt {
        let number = |text: Option<String>| text.and_then(|text| text.parse().ok());
        let time = |text: Option<String>| text.and_then(|text| text.parse::<Timestamp>().ok());
        let error = self.error.map(|message| JobError {
            kind: ErrorKind::parse(self.error_kind.as_deref(), &message),
            line: number(self.error_line),
            column: number(self.error_column),
            stack: Vec::new(),
            limit: self.error_limit.and_then(|word| Limit::parse(&word)),
            data: None,
            message,
        });
        Attempt {
            attempt: self.attempt,
            actor: self.actor,
            started_at: time(self.started_at),
            ended_at: time(self.ended_at),
            error,
            usage: self.usage.and_then(|text| serde_json::from_str::<Usage>(&text).ok()),
        }
    }
}

/// Reads the attempts before the last from the field of a job. Lines that other programs wrote and that cannot be read are left out.
pub(crate) fn earlier(text: &Text) -> Vec<Attempt> {
    let lines = text.0.as_deref().unwrap_or_default().lines();
    lines.filter_map(|line| serde_json::from_str::<Line>(line).ok()).map(Line::attempt).collect()
}

/// Returns all attempts of a job, including the one that runs or ran last.
pub(crate) fn all(mut earlier: Vec<Attempt>, job: &Job) -> Vec<Attempt> {
    let has_begun = job.attempt > earlier.last().map_or(0, |last| last.attempt) && job.started_at.is_some();
    if has_begun && matches!(job.status, Status::Started | Status::Finished | Status::Error) {
        let has_ended = job.status != Status::Started;
        earlier.push(Attempt {
            attempt: job.attempt,
            actor: job.actor.clone(),
            started_at: job.started_at,
            ended_at: job.finished_at.filter(|_| has_ended),
            error: job.error.clone().filter(|_| job.status == Status::Error),
            usage: job.usage.filter(|_| has_ended),
        });
    }
    earlier
}
