use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use hero_model::{JobError, JobId, Status};

/// The error codes of the wire that a client distinguishes.
pub mod code {
    use hero_model::api::Code;

    /// The parameters are wrong.
    pub const BAD_PARAMS: i32 = Code::InvalidParams.number();
    /// The server does not have this method.
    pub const METHOD_NOT_FOUND: i32 = Code::MethodNotFound.number();
    /// The request is larger than the server takes.
    pub const OVERSIZED: i32 = Code::RequestTooLarge.number();
    /// The job does not exist.
    pub const JOB_NOT_FOUND: i32 = Code::JobNotFound.number();
    /// The status of the job does not allow this.
    pub const STATE: i32 = Code::State.number();
    /// The script type is unknown.
    pub const UNKNOWN_SCRIPT_TYPE: i32 = Code::UnknownScriptType.number();
    /// The caller may not do this.
    pub const DENIED: i32 = Code::PermissionDenied.number();
    /// The caller has to log in first.
    pub const NOT_AUTHENTICATED: i32 = Code::NotAuthenticated.number();
    /// Too many calls came at once.
    pub const RATE_LIMITED: i32 = Code::RateLimited.number();
    /// The queue is full, or Redis nearly is.
    pub const FULL: i32 = Code::QueueFull.number();
    /// Something is larger than allowed.
    pub const TOO_LARGE: i32 = Code::TooLarge.number();
    /// Redis does not answer the server.
    pub const STORE_UNAVAILABLE: i32 = Code::StoreUnavailable.number();
    /// The idempotency key was used with other parameters.
    pub const IDEMPOTENCY_REUSED: i32 = Code::IdempotencyReused.number();
    /// The job failed.
    pub const JOB_FAILED: i32 = Code::JobFailed.number();
    /// The wait timed out; the job goes on.
    pub const WAIT_RAN_OUT: i32 = Code::WaitRanOut.number();
    /// The job was stopped.
    pub const JOB_STOPPED: i32 = Code::JobStopped.number();
}

/// The reason why a call has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The address cannot be used.
    #[error("{url:?} is not an address of a server: {reason}{}", example(reason))]
    Address {
        /// The address as given.
        url: String,
        /// The error in it.
        reason: String,
    },
    /// The token cannot be sent to a server. It is not repeated, because it may be a secret.
    #[error("the token cannot be used: {reason}")]
    Token {
        /// The error in it.
        reason: String,
    },
    /// The file of the certificate authority cannot be used. No connection was opened.
    #[error("{} cannot be used as the authority of a certificate: {reason}", file.display())]
    Authority {
        /// The file.
        file: PathBuf,
        /// The error in it.
        reason: String,
    },
    /// No server answers at the address.
    #[error("no server answers at {url}: {reason}")]
    Unreachable {
        /// The address that was tried.
        url: String,
        /// Why the attempt failed.
        reason: String,
    },
    /// The identity of the server could not be verified, or the server does not use TLS.
    #[error("{url} is not to be trusted: {reason}")]
    Untrusted {
        /// The address that was tried.
        url: String,
        /// The reason.
        reason: String,
    },
    /// A server may be there, but does not answer.
    #[error("nothing was heard from {url} within {} s", after.as_secs())]
    Silent {
        /// The address that was tried.
        url: String,
        /// The timeout.
        after: Duration,
    },
    /// The server refuses the connection.
    #[error("the server at {url} refused the connection with HTTP status {status}")]
    Refused {
        /// The address that was tried.
        url: String,
        /// The HTTP status of the refusal.
        status: u16,
    },
    /// The server sends callers to another address. That is not followed, because whoever is there would get the token
    /// and the script.
    #[error("the server at {url} sends to {to}, which is not followed")]
    Redirected {
        /// The address that was tried.
        url: String,
        /// The address that it names.
        to: String,
    },
    /// The server sent a nonce for another server, where it may want to log in with this client's signature.
    #[error("nothing was signed: the server at {meant} asks for a signature of {named:?}, which is not its name")]
    OtherServer {
        /// The text that it asked to sign.
        named: String,
        /// The server that was connected to.
        meant: String,
    },
    /// The server answered with an error.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The server has closed the connection, because the token that opened it has ended.
    #[error("the server closed the connection: {why}{}", outcome(method.as_deref()))]
    LoggedOut {
        /// The reason that the server gave.
        why: String,
        /// The method of a call that was sent, had no answer, and changes something. Whether it was executed is unknown.
        method: Option<String>,
        /// The idempotency keys that the call was sent with. The same call with the same keys is executed once.
        keys: Vec<String>,
    },
    /// The connection ended, and did not come back. The request changes nothing, or was never sent.
    #[error("the connection to the server was lost: {0}")]
    Closed(String),
    /// The connection ended before an answer came that this client can read, and the call may have been executed. It was
    /// not sent again, because that might execute it twice, or because the connection did not come back in time; or it
    /// was refused when it was sent again.
    #[error("the connection to the server was lost before the answer to {method} came, so whether it was done is not known: {why}")]
    Unknown {
        /// The method called.
        method: String,
        /// The reason why the connection ended, or did not come back, or why the call was refused; or what came in place
        /// of the answer.
        why: String,
        /// The idempotency keys that the call was sent with. The same call with the same keys is executed once.
        keys: Vec<String>,
    },
    /// The peer sent something other than JSON-RPC, so it is not a hero server. The connection has ended. A call that
    /// changes something, and was sent, fails with [`Error::Unknown`] instead.
    #[error("what answers there is no hero server: {0}")]
    Foreign(String),
    /// The answer did not come in time. Whether the call was executed is unknown.
    #[error("the server does not answer: {method} had no answer within {} s", after.as_secs())]
    Timeout {
        /// The method called.
        method: String,
        /// The timeout.
        after: Duration,
        /// The idempotency keys that the call was sent with. The same call with the same keys is executed once.
        keys: Vec<String>,
    },
    /// The wait timed out while the server was away. The call only waits, so what it waits for goes on, or it was never
    /// sent. One that was sent and creates something fails with [`Error::Unknown`] instead.
    #[error("the server was away when the wait of {} s ran out", (after.as_secs_f64() * 1000.0).round() / 1000.0)]
    WaitedOut {
        /// The maximum wait.
        after: Duration,
    },
    /// The request is larger than the server accepts, and was not sent.
    #[error("the request has {size} bytes, and the server takes {limit} (its setting max_request)")]
    TooLarge {
        /// The method that was to be called.
        method: String,
        /// The size of the request.
        size: usize,
        /// The maximum size.
        limit: usize,
    },
    /// The server sent more than this client accepts, as the answer to a call or as an item. The connection has ended. A
    /// call that changes something, and was sent, fails with [`Error::Unknown`] instead.
    #[error("what the server sent has {size} bytes or more, and this client takes {limit}; ask for less at once")]
    AnswerTooLarge {
        /// The minimum size of the message.
        size: u64,
        /// The maximum size.
        limit: u64,
    },
    /// The server ends the subscription repeatedly, without an item and without a reason.
    #[error("the server has ended subscribe_{topic} several times in a row, without an item and without a reason")]
    Broken {
        /// The topic of the subscription.
        topic: String,
    },
    /// The answer does not have the type of the method: the server has another version.
    #[error("{method}: the answer is not understood: {source}")]
    Shape {
        /// The method called.
        method: String,
        /// The mismatch.
        source: Arc<serde_json::Error>,
    },
}

impl Error {
    pub(super) fn shape(method: &str, source: serde_json::Error) -> Self {
        Self::Shape { method: method.to_owned(), source: Arc::new(source) }
    }

    /// True if the server is away, or cannot accept connections now. A proxy in front of it answers 502 to 504.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } | Self::Closed(_) | Self::Refused { status: 429 | 502..=504, .. } => true,
            error => error.has_code(code::STORE_UNAVAILABLE),
        }
    }

    /// True for an answer about what a call created, now or when it was sent before.
    pub(super) fn is_final(&self) -> bool {
        self.rpc()
            .is_some_and(|error| matches!(error.code, code::IDEMPOTENCY_REUSED | code::JOB_FAILED | code::WAIT_RAN_OUT | code::JOB_STOPPED))
    }

    /// Returns the time after which a call may be made again that came too soon.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let told = self.rpc().filter(|rpc| rpc.code == code::RATE_LIMITED)?.data.as_ref();
        let ms = told.and_then(|data| data.get("retry_after_ms")?.as_u64()).unwrap_or(1000);
        Some(Duration::from_millis(ms))
    }

    /// Returns the job that the server's answer is about, if it names one.
    pub(super) fn job_id(&self) -> Option<JobId> {
        JobId::deserialize(self.rpc()?.data.as_ref()?.get("job_id")?).ok()
    }

    /// Returns the error object of the server, if it sent one.
    pub fn rpc(&self) -> Option<&RpcError> {
        match self {
            Self::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// True if a wait timed out, and the job or flow goes on that was waited for.
    pub fn is_wait_run_out(&self) -> bool {
        matches!(self, Self::WaitedOut { .. }) || self.has_code(code::WAIT_RAN_OUT)
    }

    /// Returns the status of the job of a refused call, if the server sent it.
    pub fn status(&self) -> Option<Status> {
        Status::deserialize(self.rpc()?.data.as_ref()?.get("status")?).ok()
    }

    /// True if the server answered with this code.
    pub fn has_code(&self, code: i32) -> bool {
        self.rpc().is_some_and(|error| error.code == code)
    }
}

/// Adds an example of an address to what is wrong with one, unless that has its own.
fn example(reason: &str) -> &'static str {
    if reason.contains("such as") { "" } else { " (such as ws://127.0.0.1:8700)" }
}

/// Says that the outcome of an unanswered call is unknown, if `method` names one that changes something.
fn outcome(method: Option<&str>) -> String {
    method.map(|method| format!("; whether {method} was done is not known")).unwrap_or_default()
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// A code of [`code`], or of JSON-RPC.
    pub code: i32,
    /// What happened and what to do, for people.
    pub message: String,
    /// What happened, for programs.
    pub data: Option<Value>,
}

impl RpcError {
    /// Returns the failure of the job, if this error reports one (codes 1101 and 1103).
    pub fn job_failure(&self) -> Option<JobFailure> {
        JobFailure::deserialize(self.data.as_ref()?).ok()
    }
}

/// The `data` of an error that reports the end of a job.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct JobFailure {
    /// The job.
    pub job_id: JobId,
    /// Its status.
    pub status: Status,
    /// The error of the job, and its place.
    pub error: JobError,
    /// The attempt that failed.
    #[serde(default)]
    pub attempt: u32,
}
