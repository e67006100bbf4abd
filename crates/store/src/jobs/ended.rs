use std::time::Duration;

use super::codec::JobEnd;
use hero_model::{ErrorKind, JobError, JobId, JobResult, Output, Timestamp, Usage};

/// The end of an attempt.
#[derive(Debug, Clone, PartialEq)]
pub enum AttemptEnd {
    /// The script returned.
    Finished(Output),
    /// The script failed, was stopped, or ran out of time.
    Failed {
        /// The error.
        error: JobError,
        /// The wait before the next attempt, if one is left.
        retry_in: Duration,
    },
    /// The hash describes a job that can never run: it is not retried.
    Refused(JobError),
    /// The engine died.
    Crashed,
    /// The actor leaves and requeues the job as if it had not taken it.
    Requeued,
}

impl AttemptEnd {
    /// Returns the end as a word, for the log.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Finished(_) => "finished",
            Self::Failed { error, .. } => match error.kind {
                ErrorKind::Timeout => "timed out",
                ErrorKind::Stopped => "stopped",
                _ => "failed",
            },
            Self::Refused(_) => "refused",
            Self::Crashed => "crashed",
            Self::Requeued => "requeued",
        }
    }
}

/// An attempt that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    /// The job.
    pub job: JobId,
    /// The number of the attempt, for waiters.
    pub attempt: u32,
    /// The claim of the attempt. Only a report with the claim that holds the lease counts.
    pub claim: u32,
    /// The time when it began.
    pub started_at: Timestamp,
    /// Whether it wrote to the log.
    pub logged: bool,
    /// The resources that it used.
    pub usage: Option<Usage>,
    /// The end.
    pub end: AttemptEnd,
}

impl Ended {
    /// Returns an attempt without log lines and with unknown resource use.
    pub fn of(job: JobId, attempt: u32, claim: u32, started_at: Timestamp, end: AttemptEnd) -> Self {
        Self { job, attempt, claim, started_at, logged: false, usage: None, end }
    }

    /// The end of its job at this time, if the attempt says what it is.
    pub(crate) fn of_job(&self, now: Timestamp) -> Option<JobEnd> {
        Some(match &self.end {
            AttemptEnd::Finished(output) => {
                let (text, format, id) = (output.text.clone(), Some(output.format.as_str()), self.job.clone());
                let times = [Some(self.started_at), Some(now.max(self.started_at))];
                JobEnd::Finished(JobResult::of(id, text, format, self.attempt, times, self.usage))
            }
            AttemptEnd::Failed { error, .. } | AttemptEnd::Refused(error) => JobEnd::Failed { error: error.clone(), attempt: self.attempt },
            AttemptEnd::Crashed | AttemptEnd::Requeued => return None,
        })
    }
}
