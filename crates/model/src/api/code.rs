/// The errors of calls, and their numbers on the wire.
///
/// Our own numbers are positive, because jsonrpsee reserves -32000 to -32011.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// The request is not JSON.
    ParseError,
    /// The request is JSON, but not a valid call.
    InvalidRequest,
    /// The method does not exist.
    MethodNotFound,
    /// The parameters don't fit the method.
    InvalidParams,
    /// A bug of ours.
    Internal,
    /// The connection has reached its limit of subscriptions.
    TooManySubscriptions,
    /// The request is larger than allowed.
    RequestTooLarge,
    /// The batch has more calls than allowed.
    BatchTooLong,
    /// All answers of a batch together are larger than allowed.
    BatchAnswerTooLarge,
    /// The job does not exist.
    JobNotFound,
    /// The job's status does not allow this.
    State,
    /// The script type does not exist.
    UnknownScriptType,
    /// The caller may not do this.
    PermissionDenied,
    /// The caller has to log in.
    NotAuthenticated,
    /// Too many calls.
    RateLimited,
    /// The queue is full, or the store is nearly full.
    QueueFull,
    /// Something is larger than allowed.
    TooLarge,
    /// The store did not answer.
    StoreUnavailable,
    /// The idempotency key was used for a job or flow with other parameters.
    IdempotencyReused,
    /// The context, schedule or object does not exist.
    NotFound,
    /// The job ended in error.
    JobFailed,
    /// The wait timed out; the job goes on.
    WaitRanOut,
    /// The job was stopped.
    JobStopped,
}

impl Code {
    /// Every code, in the order of their numbers.
    pub const ALL: [Self; 23] = [
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::Internal,
        Self::TooManySubscriptions,
        Self::RequestTooLarge,
        Self::BatchTooLong,
        Self::BatchAnswerTooLarge,
        Self::JobNotFound,
        Self::State,
        Self::UnknownScriptType,
        Self::PermissionDenied,
        Self::NotAuthenticated,
        Self::RateLimited,
        Self::QueueFull,
        Self::TooLarge,
        Self::StoreUnavailable,
        Self::IdempotencyReused,
        Self::NotFound,
        Self::JobFailed,
        Self::WaitRanOut,
        Self::JobStopped,
    ];

    /// The errors that every method may return, besides its own.
    pub const COMMON: [Self; 5] = [Self::InvalidParams, Self::Internal, Self::PermissionDenied, Self::NotAuthenticated, Self::RateLimited];

    /// The number on the wire.
    pub const fn number(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            // The number with which jsonrpsee answers before a method is called.
            Self::TooManySubscriptions => -32006,
            Self::RequestTooLarge => -32007,
            Self::BatchTooLong => -32010,
            Self::BatchAnswerTooLarge => -32011,
            Self::JobNotFound => 1001,
            Self::State => 1002,
            Self::UnknownScriptType => 1003,
            Self::PermissionDenied => 1004,
            Self::NotAuthenticated => 1005,
            Self::RateLimited => 1006,
            Self::QueueFull => 1007,
            Self::TooLarge => 1008,
            Self::StoreUnavailable => 1009,
            Self::IdempotencyReused => 1010,
            Self::NotFound => 1011,
            Self::JobFailed => 1101,
            Self::WaitRanOut => 1102,
            Self::JobStopped => 1103,
        }
    }

    /// The meaning, for `openrpc.json`. The message of an actual error says more.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::ParseError => "not JSON",
            Self::InvalidRequest => "not a request that can be answered here",
            Self::MethodNotFound => "there is no such method",
            Self::InvalidParams => "a parameter is missing, unknown or wrong",
            Self::Internal => "internal error",
            Self::TooManySubscriptions => "too many subscriptions on one connection",
            Self::RequestTooLarge => "the request is too large",
            Self::BatchTooLong => "the batch has too many calls",
            Self::BatchAnswerTooLarge => "the answers of the batch are too large together",
            Self::JobNotFound => "the job does not exist",
            Self::State => "the status of the job does not allow this, or the id is taken",
            Self::UnknownScriptType => "the script type is not built in, not configured and has no live actor",
            Self::PermissionDenied => "permission denied",
            Self::NotAuthenticated => "not authenticated",
            Self::RateLimited => "too many calls",
            Self::QueueFull => "the queue or the store is full",
            Self::TooLarge => "something is larger than allowed",
            Self::StoreUnavailable => "the store is unavailable",
            Self::IdempotencyReused => "the idempotency key was used with other parameters",
            Self::NotFound => "there is no such context, schedule, flow, object, identity, token, runner or message",
            Self::JobFailed => "the job failed",
            Self::WaitRanOut => "the wait ran out, the job goes on",
            Self::JobStopped => "the job was stopped",
        }
    }
}
