/// Every kind of error that a call can end with, and its number on the wire.
///
/// Our own numbers are positive, because jsonrpsee takes -32000 to -32011 for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Code {
    /// What arrived is not JSON.
    ParseError,
    /// The request is JSON, but no call that can be made here.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The parameters don't fit the method.
    InvalidParams,
    /// A bug of ours.
    Internal,
    /// The connection has as many subscriptions as it may.
    TooManySubscriptions,
    /// The request is larger than allowed.
    RequestTooLarge,
    /// The batch has more calls than allowed.
    BatchTooLong,
    /// The answers of a batch are larger than allowed together.
    BatchAnswerTooLarge,
    /// There is no such job.
    JobNotFound,
    /// The job's status does not allow this.
    State,
    /// Nobody knows this script type.
    UnknownScriptType,
    /// The caller may not do this.
    PermissionDenied,
    /// The caller has to log in.
    NotAuthenticated,
    /// Too many calls.
    RateLimited,
    /// The queue is full, or the store nearly is.
    QueueFull,
    /// Something is larger than allowed.
    TooLarge,
    /// The store did not answer.
    StoreUnavailable,
    /// The idempotency key stands for a job or flow with other parameters.
    IdempotencyReused,
    /// There is no such context, schedule or object.
    NotFound,
    /// The job ended badly.
    JobFailed,
    /// The wait is over, the job is not.
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

    /// What every method may answer, besides its own errors.
    pub const COMMON: [Self; 5] = [Self::InvalidParams, Self::Internal, Self::PermissionDenied, Self::NotAuthenticated, Self::RateLimited];

    /// The number on the wire.
    pub const fn number(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            // As jsonrpsee answers before a method is called.
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

    /// What it means, for `openrpc.json`. The message of an actual error says more.
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
