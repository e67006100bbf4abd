use std::time::Duration;

use hero_store as store;

/// The reason why a job was not added.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AddError {
    /// No job was given.
    #[error("there is no job to add")]
    NilJob,
    /// The job has no queue.
    #[error("job {uuid} names no queue")]
    NoQueue {
        /// The job.
        uuid: String,
    },
    /// The job has no type.
    #[error("job {uuid} names no type")]
    NoType {
        /// The job.
        uuid: String,
    },
    /// The job cannot be written as a message.
    #[error("job {uuid} cannot be marshalled: {source}")]
    Marshal {
        /// The job.
        uuid: String,
        /// The reason.
        source: MarshalError,
    },
    /// Redis did not add the job to its parent's children.
    #[error("job {uuid} was not added to the children of its parent, {key}: {source}")]
    Children {
        /// The job.
        uuid: String,
        /// The list.
        key: String,
        /// The error of Redis.
        source: store::Error,
    },
    /// Redis did not add the job to its predecessor's continuations.
    #[error("job {uuid} was not added to the continuations of its predecessor, {key}: {source}")]
    OnComplete {
        /// The job.
        uuid: String,
        /// The list.
        key: String,
        /// The error of Redis.
        source: store::Error,
    },
    /// Redis did not schedule the job.
    #[error("job {uuid} was not scheduled in {key}: {source}")]
    Scheduled {
        /// The job.
        uuid: String,
        /// The sorted set.
        key: String,
        /// The error of Redis.
        source: store::Error,
    },
    /// Redis did not add the job to the active children of its dead parent.
    #[error("job {uuid} was not added to the active children of its parent, {key}: {source}")]
    Active {
        /// The job.
        uuid: String,
        /// The set.
        key: String,
        /// The error of Redis.
        source: store::Error,
    },
    /// Redis did not add the job to its queue.
    #[error("job {uuid} was not put into its queue, {key}: {source}")]
    Queue {
        /// The job.
        uuid: String,
        /// The list.
        key: String,
        /// The error of Redis.
        source: store::Error,
    },
    /// The caller cancelled. The step may have been completed.
    #[error("cancelled while job {uuid} was added to {step}, {key}")]
    Cancelled {
        /// The job.
        uuid: String,
        /// The step.
        step: Step,
        /// The key of the step.
        key: String,
    },
    /// The caller's deadline came. The step may have been completed.
    #[error("out of time while job {uuid} was added to {step}, {key}, {late:?} after the deadline")]
    Deadline {
        /// The job.
        uuid: String,
        /// The step.
        step: Step,
        /// The key of the step.
        key: String,
        /// Time since the deadline.
        late: Duration,
    },
}

/// The reason why a job cannot be written as a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarshalError {
    /// The message exceeds the client's limit.
    #[error("it has {length} bytes, and {limit} are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A time is outside the years 1 to 9999, or its nanoseconds are not a fraction of a second.
    #[error("{field} is no time: {seconds} seconds and {nanos} nanoseconds")]
    Time {
        /// The field.
        field: &'static str,
        /// Its seconds.
        seconds: i64,
        /// Its nanoseconds.
        nanos: i32,
    },
}

/// A step of [`add`](super::add) that writes to Redis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// LPUSH to the children of the parent.
    Children,
    /// LPUSH to the continuations of the predecessor.
    OnComplete,
    /// ZADD to the scheduled jobs.
    Scheduled,
    /// SADD to the active children of the dead parent.
    Active,
    /// LPUSH to the queue.
    Queue,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Children => "the children of its parent",
            Self::OnComplete => "the continuations of its predecessor",
            Self::Scheduled => "the scheduled jobs",
            Self::Active => "the active children of its parent",
            Self::Queue => "its queue",
        })
    }
}

impl Step {
    /// Returns the error for a failure of this step.
    pub(super) fn failed(self, uuid: String, key: String, source: store::Error) -> AddError {
        match self {
            Self::Children => AddError::Children { uuid, key, source },
            Self::OnComplete => AddError::OnComplete { uuid, key, source },
            Self::Scheduled => AddError::Scheduled { uuid, key, source },
            Self::Active => AddError::Active { uuid, key, source },
            Self::Queue => AddError::Queue { uuid, key, source },
        }
    }
}

impl AddError {
    /// True if adding the same job again may succeed.
    ///
    /// The step that failed may have been completed nevertheless. Hero's pools run a job only once if it was added
    /// twice under one uuid while it is queued or running.
    pub fn is_recoverable(&self) -> bool {
        match self {
            Self::NilJob | Self::NoQueue { .. } | Self::NoType { .. } | Self::Marshal { .. } => false,
            Self::Children { source, .. }
            | Self::OnComplete { source, .. }
            | Self::Scheduled { source, .. }
            | Self::Active { source, .. }
            | Self::Queue { source, .. } => source.may_pass(),
            Self::Cancelled { .. } | Self::Deadline { .. } => true,
        }
    }

    /// True if the job, the key or Redis itself must be corrected first.
    pub fn is_critical(&self) -> bool {
        !self.is_recoverable()
    }
}
