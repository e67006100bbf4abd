use std::time::Duration;

use hero_store as store;

/// Why a job was not added.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AddError {
    /// There is no job.
    #[error("there is no job to add")]
    NilJob,
    /// The job names no queue.
    #[error("job {uuid} names no queue")]
    NoQueue {
        /// The job.
        uuid: String,
    },
    /// The job names no type.
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
        /// What is wrong with it.
        source: MarshalError,
    },
    /// Redis did not add it to its parent's children.
    #[error("job {uuid} was not added to the children of its parent, {key}: {source}")]
    Children {
        /// The job.
        uuid: String,
        /// The list.
        key: String,
        /// What Redis said.
        source: store::Error,
    },
    /// Redis did not add it to its predecessor's continuations.
    #[error("job {uuid} was not added to the continuations of its predecessor, {key}: {source}")]
    OnComplete {
        /// The job.
        uuid: String,
        /// The list.
        key: String,
        /// What Redis said.
        source: store::Error,
    },
    /// Redis did not schedule it.
    #[error("job {uuid} was not scheduled in {key}: {source}")]
    Scheduled {
        /// The job.
        uuid: String,
        /// The sorted set.
        key: String,
        /// What Redis said.
        source: store::Error,
    },
    /// Redis did not add it to the active children of its dead parent.
    #[error("job {uuid} was not added to the active children of its parent, {key}: {source}")]
    Active {
        /// The job.
        uuid: String,
        /// The set.
        key: String,
        /// What Redis said.
        source: store::Error,
    },
    /// Redis did not put it into its queue.
    #[error("job {uuid} was not put into its queue, {key}: {source}")]
    Queue {
        /// The job.
        uuid: String,
        /// The list.
        key: String,
        /// What Redis said.
        source: store::Error,
    },
    /// The caller cancelled. The step may have been done.
    #[error("cancelled while job {uuid} was added to {step}, {key}")]
    Cancelled {
        /// The job.
        uuid: String,
        /// What was being done.
        step: Step,
        /// To this key.
        key: String,
    },
    /// The caller's deadline came. The step may have been done.
    #[error("out of time while job {uuid} was added to {step}, {key}, {late:?} after the deadline")]
    Deadline {
        /// The job.
        uuid: String,
        /// What was being done.
        step: Step,
        /// To this key.
        key: String,
        /// How long ago the deadline was.
        late: Duration,
    },
}

/// Why a job cannot be written as a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarshalError {
    /// It is longer than the client's limit.
    #[error("it has {length} bytes, and {limit} are allowed")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The limit in bytes.
        limit: usize,
    },
    /// A time is outside the years 1 to 9999, or its nanoseconds are no fraction of a second.
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
    /// The failure of this step.
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
    /// Whether adding the same job again, as it is, may succeed.
    ///
    /// The step that failed may have been done all the same: hero's pools run a job once that was added twice under one uuid
    /// while it is under way.
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

    /// Whether the job, the key or Redis itself has to be put right first.
    pub fn is_critical(&self) -> bool {
        !self.is_recoverable()
    }
}
