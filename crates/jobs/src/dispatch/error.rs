use std::time::Duration;

use hero_engine::Program;
use hero_model::{ContextId, ErrorKind, JobError, JobId, Name, ObjectId, Reason, ScheduleId, ScriptType, Status};
use hero_store as store;

/// The retry delay for calls that were refused because something is full.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The reason why an operation on jobs was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A parameter is invalid.
    #[error("{param}: {message}")]
    Invalid {
        /// The parameter.
        param: &'static str,
        /// The error in it, and what to do.
        message: String,
    },
    /// The context does not exist here.
    #[error("context {0} does not exist here; list_contexts gives those that do, and create_context makes one")]
    NoContext(ContextId),
    /// The context is being deleted.
    #[error("context {0} is being deleted, and takes no calls")]
    Deleting(ContextId),
    /// The context creates more jobs per second than it may.
    #[error("this context reached its limit of jobs created per second (jobs_per_second); try again in {} ms", retry_after.as_millis())]
    TooFast {
        /// Time until there is room.
        retry_after: Duration,
    },
    /// The job does not exist (any more).
    #[error("job {0} does not exist")]
    NotFound(JobId),
    /// The job has finished, but was gone before its result was read.
    #[error("job {0} finished, but was deleted, or its retention ended, before there was room for its result")]
    Gone(JobId),
    /// The schedule does not exist (any more).
    #[error("schedule {0} does not exist; list_schedules gives those that do")]
    NoSchedule(ScheduleId),
    /// The object does not exist (any more).
    #[error("there is no object {id} in {collection}; find_objects gives those that there are")]
    NoObject {
        /// Its collection.
        collection: Name,
        /// Its id.
        id: ObjectId,
    },
    /// A schedule with this id already exists.
    #[error("schedule {0} exists already; leave schedule_id out for a new one, or delete that one first")]
    ScheduleExists(ScheduleId),
    /// The idempotency key was used for a schedule with other parameters.
    #[error("idempotency_key: was used with other parameters for schedule {0}; use another key, or the same parameters")]
    ScheduleReused(ScheduleId),
    /// The job's status does not allow this.
    #[error("job {job_id} {}", standing(*status, action))]
    State {
        /// The job.
        job_id: JobId,
        /// Its status.
        status: Status,
        /// The requested action, as a past participle.
        action: &'static str,
    },
    /// A prerequisite of the job ended in error.
    #[error("job {job_id} cannot run again while its prerequisite {prerequisite} is in error; retry that one first")]
    Blocked {
        /// The job.
        job_id: JobId,
        /// The prerequisite.
        prerequisite: JobId,
    },
    /// One of several jobs to create together was refused, so none was created.
    #[error("jobs[{index}]: {error}")]
    Entry {
        /// Its index, from 0.
        index: usize,
        /// The reason.
        error: Box<Error>,
    },
    /// A job with this id already exists.
    #[error("job {job_id} exists already ({status})")]
    Exists {
        /// The job.
        job_id: JobId,
        /// Its status.
        status: Status,
    },
    /// The script type is unknown here.
    #[error("{}", unknown_type(script_type, known, near.as_deref()))]
    UnknownScriptType {
        /// The requested type.
        script_type: ScriptType,
        /// The known types, as a list for people.
        known: String,
        /// The type that may be meant.
        near: Option<String>,
    },
    /// The queue is full, or Redis nearly is.
    #[error("{what}; try again in {} ms", retry_after.as_millis())]
    Full {
        /// A description of the full resource.
        what: String,
        /// The retry delay.
        retry_after: Duration,
    },
    /// Too many calls do the same at once.
    #[error("{what}; try again in {} ms", retry_after.as_millis())]
    Busy {
        /// The calls that are too many.
        what: &'static str,
        /// The retry delay.
        retry_after: Duration,
    },
    /// A value is larger than allowed.
    #[error("{what} has {size} bytes, the limit is {limit} ({setting})")]
    TooLarge {
        /// The value that is too large.
        what: &'static str,
        /// Its size.
        size: usize,
        /// The maximum size.
        limit: usize,
        /// The setting for the limit, or a note that the limit is fixed.
        setting: &'static str,
    },
    /// The script does not compile.
    #[error("script: {}{}", .0.message, location(.0))]
    Script(Box<JobError>),
    /// The idempotency key was used for a job with other parameters.
    #[error("idempotency key was used with other parameters for job {0}")]
    IdempotencyReused(JobId),
    /// The job ended in error.
    #[error("job {job_id} {}", ending(error))]
    Failed {
        /// The job.
        job_id: JobId,
        /// The reason.
        error: Box<JobError>,
        /// The attempt that failed.
        attempt: u32,
    },
    /// The wait ended before the job.
    #[error("job {job_id} is still {status}: {explanation}")]
    StillRunning {
        /// The job; `wait_job` continues the wait.
        job_id: JobId,
        /// Its status.
        status: Status,
        /// The reason why it has not ended.
        explanation: String,
        /// The same as one word, unless this process ends or the state cannot be read.
        reason: Option<Reason>,
    },
    /// A call to Redis failed.
    #[error("store unavailable: {source}")]
    Store {
        /// The job that may or may not have been stored.
        job_id: Option<JobId>,
        /// True if it is certain that nothing was done.
        not_done: bool,
        /// The cause.
        source: store::Error,
    },
}

impl Error {
    /// Returns the error for an invalid parameter.
    pub(super) fn invalid(param: &'static str, message: impl Into<String>) -> Self {
        Self::Invalid { param, message: message.into() }
    }

    /// Returns the error for a cursor that did not come from hero.
    pub(super) fn bad_cursor(hint: &str) -> Self {
        Self::invalid("cursor", format!("is not a cursor; {hint}"))
    }

    /// Returns the error for a cursor of a list that did not come from hero.
    #[doc(hidden)]
    pub fn bad_page_cursor() -> Self {
        Self::bad_cursor("use next_cursor of the page before")
    }

    /// Whether the function that creates may not have looked at the idempotency key of a call that was refused so.
    #[doc(hidden)]
    pub fn precedes_key(&self) -> bool {
        match self {
            Self::Entry { error, .. } => error.precedes_key(),
            error => matches!(error, Self::UnknownScriptType { .. } | Self::Full { .. } | Self::Invalid { .. } | Self::Script(_)),
        }
    }

    /// Returns the error for a failure of the store that concerns a job.
    pub(super) fn store(source: store::Error, job: Option<&JobId>) -> Self {
        if source.out_of_memory() {
            return Self::out_of_memory();
        }
        if let store::Error::Deleting(context) = source {
            return Self::Deleting(context);
        }
        Self::Store { job_id: job.cloned(), not_done: source.not_done(), source }
    }

    /// Converts failures of the store that concern a job.
    pub(super) fn of_job(id: &JobId) -> impl Fn(store::Error) -> Self {
        |source| Self::store(source, Some(id))
    }

    /// Returns the error for a store whose memory is nearly full.
    pub(super) fn out_of_memory() -> Self {
        Self::Full {
            what: "the memory of Redis is nearly full (redis_max_memory, at a Redis of your own maxmemory)".into(),
            retry_after: RETRY_AFTER,
        }
    }

    /// Returns the error for another context when the maximum number of contexts is open.
    #[doc(hidden)]
    pub const fn many_contexts() -> Self {
        Self::Busy { what: "the maximum number of open contexts is in use", retry_after: RETRY_AFTER }
    }

    /// Returns the error for a full queue.
    pub(super) fn queue_full(queue: &str, length: u64) -> Self {
        Self::Full { what: format!("{queue} holds {length} jobs, and takes no more (queue_length)"), retry_after: RETRY_AFTER }
    }

    /// Returns the error for a queue whose key is no list.
    pub(super) fn queue_is_no_list(queue: &str) -> Self {
        let what = format!("{queue} takes no jobs, because somebody made something else of its key; delete that");
        Self::Full { what, retry_after: RETRY_AFTER }
    }

    /// Returns the error for relations that must wait until those of other jobs were checked.
    pub(super) fn relations_busy() -> Self {
        Self::Full { what: "too many relations of jobs were checked recently".into(), retry_after: RETRY_AFTER }
    }
}

impl From<store::Error> for Error {
    fn from(source: store::Error) -> Self {
        Self::store(source, None)
    }
}

/// Says first what helps: a server with a pool for the type, or its right name.
fn unknown_type(script_type: &ScriptType, known: &str, near: Option<&str>) -> String {
    if Program::names().contains(&script_type.as_str()) {
        return format!(
            "script type {script_type} has no pool here: `hero serve --pool osis=2 --pool sal=1 --pool {script_type}=1` starts a server that has one (known: {known})"
        );
    }
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let programs = of_programs(script_type);
    format!("script type {script_type} is not built in, not configured and has no live actor (known: {known}){near}{programs}")
}

/// A hint for a script type whose jobs are run by independent programs.
fn of_programs(script_type: &ScriptType) -> &'static str {
    if script_type.as_str() == ScriptType::RUST {
        "; jobs of it are run by programs in Rust that take them from Redis, and none is here: start one that says that it is there (docs/protocol.md), or name the type in the setting script_types so that its jobs wait for one"
    } else {
        ""
    }
}

/// The status of a job, for people: all ends in error have one word on the wire.
fn standing(status: Status, action: &str) -> String {
    match (status, action) {
        (Status::Started, "started") => "has already been started".to_owned(),
        (Status::Error, _) => format!("has ended in error, so it cannot be {action}"),
        (status, _) => format!("is {status}, so it cannot be {action}"),
    }
}

/// The end of a job, for people. The protocol has special words for ends without a message.
fn ending(error: &JobError) -> String {
    match (error.kind, error.message.as_str()) {
        (ErrorKind::Stopped, "stopped") => "was stopped before it ran".to_owned(),
        (ErrorKind::Stopped, "stopped_by_request") => "was stopped by request".to_owned(),
        (ErrorKind::Stopped, message) => format!("was stopped: {message}"),
        (ErrorKind::Timeout, "timeout") => "timed out: it took longer than its timeout".to_owned(),
        (ErrorKind::Timeout, message) => format!("timed out: {message}"),
        (_, message) => format!("failed: {message}{}", location(error)),
    }
}

fn location(error: &JobError) -> String {
    match (error.line, error.column) {
        (Some(line), Some(column)) => format!(" (line {line}, column {column})"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_are_told_how_a_job_ended_in_their_words() {
        let id = || "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse::<JobId>().unwrap();
        let told = |mut error: JobError| {
            (error.line, error.column) = (Some(2), Some(5));
            let told = Error::Failed { job_id: id(), error: Box::new(error), attempt: 1 }.to_string();
            told.split_once(' ').unwrap().1.split_once(' ').unwrap().1.to_owned()
        };
        assert_eq!(told(JobError::new(ErrorKind::Stopped, "stopped_by_request")), "was stopped by request");
        assert_eq!(told(JobError::new(ErrorKind::Stopped, "stopped")), "was stopped before it ran");
        assert_eq!(told(JobError::new(ErrorKind::Timeout, "timeout")), "timed out: it took longer than its timeout");
        assert_eq!(told(JobError::new(ErrorKind::Script, "no")), "failed: no (line 2, column 5)");
        let refused = Error::State { job_id: id(), status: Status::Started, action: "started" }.to_string();
        assert!(refused.ends_with(" has already been started"), "{refused}");
        let refused = Error::State { job_id: id(), status: Status::Error, action: "stopped" }.to_string();
        assert!(refused.ends_with("has ended in error, so it cannot be stopped"), "{refused}");
    }
}
