use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The status of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "JobStatus")]
pub enum Status {
    /// Stored, and waits for `start_job`.
    Created,
    /// Waits for its time: `run_at`, or the next attempt.
    Scheduled,
    /// Waits for other jobs to finish.
    WaitingForPrerequisites,
    /// In a work queue.
    Dispatched,
    /// An actor runs it.
    Started,
    /// Ended well; it has an output.
    Finished,
    /// Ended badly, was stopped, or ran out of time.
    Error,
}

/// The outcome of starting a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is scheduled for later.
    Later,
    /// Other jobs must finish first.
    Blocked,
    /// It can run now.
    Ready,
}

impl Next {
    /// The status of the job in this case.
    pub const fn status(self) -> Status {
        match self {
            Self::Later => Status::Scheduled,
            Self::Blocked => Status::WaitingForPrerequisites,
            Self::Ready => Status::Dispatched,
        }
    }
}

/// An event in the life of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A client started it.
    Started {
        /// The outcome, which depends on its relations and its time.
        next: Next,
    },
    /// Its time has come.
    Due {
        /// Whether other jobs must finish first.
        blocked: bool,
    },
    /// The last job it waited for finished.
    PrerequisitesMet,
    /// A job it waited for ended in error.
    PrerequisiteFailed,
    /// An actor took it, or took it again after its lease ended.
    Claimed,
    /// Its script returned.
    Succeeded,
    /// Its script failed or ran out of time.
    Failed {
        /// Whether attempts are left.
        retry: bool,
    },
    /// The actor that ran it requeued it, for example at a shutdown.
    Requeued,
    /// The actor that ran it died.
    LeaseLost {
        /// Whether this happened too often.
        last: bool,
    },
    /// A client stopped it.
    Stopped,
    /// A client asked to run it again.
    Retried {
        /// Whether other jobs must finish first.
        blocked: bool,
    },
}

impl Event {
    /// Every event, with all values of its fields.
    pub const ALL: [Self; 17] = [
        Self::Started { next: Next::Later },
        Self::Started { next: Next::Blocked },
        Self::Started { next: Next::Ready },
        Self::Due { blocked: true },
        Self::Due { blocked: false },
        Self::PrerequisitesMet,
        Self::PrerequisiteFailed,
        Self::Claimed,
        Self::Succeeded,
        Self::Failed { retry: true },
        Self::Failed { retry: false },
        Self::Requeued,
        Self::LeaseLost { last: false },
        Self::LeaseLost { last: true },
        Self::Stopped,
        Self::Retried { blocked: true },
        Self::Retried { blocked: false },
    ];
}

/// The error for an event that the current status does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a {from} job cannot take the event {event:?}")]
pub struct Illegal {
    /// The current status of the job.
    pub from: Status,
    /// The event.
    pub event: Event,
}

impl Status {
    /// Every status, in the order of a job's life.
    pub const ALL: [Self; 7] =
        [Self::Created, Self::Scheduled, Self::WaitingForPrerequisites, Self::Dispatched, Self::Started, Self::Finished, Self::Error];

    /// The life of a job: returns the status after `event`, or an error if the current status does not allow it.
    pub const fn on(self, event: Event) -> Result<Self, Illegal> {
        use Status::{Created, Dispatched, Error, Finished, Scheduled, Started, WaitingForPrerequisites};
        Ok(match (self, event) {
            (Created, Event::Started { next }) => next.status(),
            (Scheduled, Event::Due { blocked: true }) | (Error | Finished, Event::Retried { blocked: true }) => WaitingForPrerequisites,
            (Scheduled, Event::Due { blocked: false }) | (Error | Finished, Event::Retried { blocked: false }) => Dispatched,
            (WaitingForPrerequisites, Event::PrerequisitesMet) => Dispatched,
            (Created | Scheduled | WaitingForPrerequisites, Event::PrerequisiteFailed) => Error,
            (Dispatched, Event::Claimed) => Started,
            (Started, Event::Succeeded) => Finished,
            (Started, Event::Failed { retry: true }) => Scheduled,
            (Started, Event::Failed { retry: false }) => Error,
            (Started, Event::Requeued | Event::LeaseLost { last: false }) => Dispatched, // It goes back into its queue.
            (Started, Event::LeaseLost { last: true }) => Error,
            (from, Event::Stopped) if !from.is_final() => Error,
            (from, event) => return Err(Illegal { from, event }),
        })
    }

    /// Whether the job has ended.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Finished | Self::Error)
    }

    /// The word in Redis and on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Scheduled => "scheduled",
            Self::WaitingForPrerequisites => "waiting_for_prerequisites",
            Self::Dispatched => "dispatched",
            Self::Started => "started",
            Self::Finished => "finished",
            Self::Error => "error",
        }
    }

    /// Returns the status that a hash names. A hash without one counts as dispatched; an unknown word is `None`.
    pub fn parse(word: Option<&str>) -> Option<Self> {
        match word {
            None | Some("") => Some(Self::Dispatched),
            Some(word) => Self::ALL.into_iter().find(|status| status.as_str() == word),
        }
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::str::FromStr for Status {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == word)
            .ok_or_else(|| format!("{word:?} is not a status (one of {})", Self::ALL.map(Self::as_str).join(", ")))
    }
}

#[cfg(test)]
mod tests;
