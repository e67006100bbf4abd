use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use hero_model::{JobError, JobId, Status};

/// The error codes of the wire that a client tells apart.
pub mod code {
    use hero_model::api::Code;

    /// The parameters are wrong.
    pub const BAD_PARAMS: i32 = Code::InvalidParams.number();
    /// The server has no such method.
    pub const METHOD_NOT_FOUND: i32 = Code::MethodNotFound.number();
    /// The request is larger than the server takes.
    pub const OVERSIZED: i32 = Code::RequestTooLarge.number();
    /// The job does not exist.
    pub const JOB_NOT_FOUND: i32 = Code::JobNotFound.number();
    /// The status of the job does not allow this.
    pub const STATE: i32 = Code::State.number();
    /// Nobody runs scripts of this type.
    pub const UNKNOWN_SCRIPT_TYPE: i32 = Code::UnknownScriptType.number();
    /// The caller may not do this.
    pub const DENIED: i32 = Code::PermissionDenied.number();
    /// The caller has to log in first.
    pub const NOT_AUTHENTICATED: i32 = Code::NotAuthenticated.number();
    /// The queue is full, or Redis nearly is.
    pub const FULL: i32 = Code::QueueFull.number();
    /// Something is larger than allowed.
    pub const TOO_LARGE: i32 = Code::TooLarge.number();
    /// Redis does not answer the server.
    pub const STORE_UNAVAILABLE: i32 = Code::StoreUnavailable.number();
    /// The job failed.
    pub const JOB_FAILED: i32 = Code::JobFailed.number();
    /// The wait ran out; the job goes on.
    pub const WAIT_RAN_OUT: i32 = Code::WaitRanOut.number();
    /// The job was stopped.
    pub const JOB_STOPPED: i32 = Code::JobStopped.number();
}

/// Why a call has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The address cannot be used.
    #[error("{url:?} is not an address of a server: {reason} (such as ws://127.0.0.1:8700)")]
    Address {
        /// The address as given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The token cannot be shown to a server. It is not repeated: it may be a secret all the same.
    #[error("the token cannot be used: {reason}")]
    Token {
        /// What is wrong with it.
        reason: String,
    },
    /// The file of the authority whose word is to be taken cannot be used. Nobody was connected to.
    #[error("{} cannot be used as the authority of a certificate: {reason}", file.display())]
    Authority {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
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
    /// The server is not known to be who it says, or speaks no TLS.
    #[error("{url} is not to be trusted: {reason}")]
    Untrusted {
        /// The address that was tried.
        url: String,
        /// Why.
        reason: String,
    },
    /// Somebody may be there, but says nothing.
    #[error("nothing was heard from {url} within {} s", after.as_secs())]
    Silent {
        /// The address that was tried.
        url: String,
        /// How long an answer was waited for.
        after: Duration,
    },
    /// The server does not let us in.
    #[error("the server at {url} refused the connection with HTTP status {status}")]
    Refused {
        /// The address that was tried.
        url: String,
        /// The HTTP status of the refusal.
        status: u16,
    },
    /// The server gave a nonce that is for another one, which it may want to log in to with our signature.
    #[error("nothing was signed: the server at {meant} asks for a signature of {named:?}, which is not its name")]
    OtherServer {
        /// What it asked to sign.
        named: String,
        /// The server that was connected to.
        meant: String,
    },
    /// The server answered with an error.
    #[error(transparent)]
    Rpc(#[from] RpcError),
    /// The server has closed the connection, because the token that opened it has ended. Whether the call was executed is unknown.
    #[error("the server closed the connection: {0}")]
    LoggedOut(String),
    /// The connection ended, and did not come back. What was asked changes nothing, or was not sent.
    #[error("the connection to the server was lost: {0}")]
    Closed(String),
    /// The connection ended before the answer came, and the call may have been executed. It was not sent again, since that might do it twice.
    #[error("the connection to the server was lost before the answer to {method} came, so whether it was done is not known: {why}")]
    Unknown {
        /// The method called.
        method: String,
        /// What became of the connection.
        why: String,
    },
    /// What answers there sent something that is no JSON-RPC, so it is no hero server. The connection has ended.
    #[error("what answers there is no hero server: {0}")]
    Foreign(String),
    /// The answer did not come in time. Whether the call was executed is unknown.
    #[error("{method} was not answered within {} s", after.as_secs())]
    Timeout {
        /// The method called.
        method: String,
        /// How long the answer was waited for.
        after: Duration,
    },
    /// The wait ran out while the server was away. What was started goes on.
    #[error("the server was away when the wait of {} s ran out", (after.as_secs_f64() * 1000.0).round() / 1000.0)]
    WaitedOut {
        /// How long it was waited.
        after: Duration,
    },
    /// The request is larger than the server takes, and was not sent.
    #[error("the request has {size} bytes, and the server takes {limit} (its setting max_request)")]
    TooLarge {
        /// The method that was to be called.
        method: String,
        /// How large the request is.
        size: usize,
        /// How large it may be.
        limit: usize,
    },
    /// The server sent more than this client takes, as the answer to a call that was under way, or as an item. The connection has ended.
    #[error("what the server sent has {size} bytes or more, and this client takes {limit}; ask for less at once")]
    AnswerTooLarge {
        /// How large it is at least.
        size: u64,
        /// How large it may be.
        limit: u64,
    },
    /// The server ends the subscription again and again, without an item and without saying why.
    #[error("the server has ended subscribe_{topic} several times in a row, without an item and without a reason")]
    Broken {
        /// What was subscribed to.
        topic: String,
    },
    /// The answer is not what the method promises: the server has another version.
    #[error("{method}: the answer is not understood: {source}")]
    Shape {
        /// The method called.
        method: String,
        /// What does not fit.
        source: Arc<serde_json::Error>,
    },
}

impl Error {
    pub(super) fn shape(method: &str, source: serde_json::Error) -> Self {
        Self::Shape { method: method.to_owned(), source: Arc::new(source) }
    }

    /// Whether it says that the server is away, or cannot let anybody in now. One behind a proxy answers 502 to 504.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Silent { .. } | Self::Closed(_) | Self::Refused { status: 429 | 502..=504, .. } => true,
            error => error.has_code(code::STORE_UNAVAILABLE),
        }
    }

    /// The job that the server's answer is about, where it says so.
    pub(super) fn job_id(&self) -> Option<JobId> {
        JobId::deserialize(self.rpc()?.data.as_ref()?.get("job_id")?).ok()
    }

    /// The error object of the server, if it sent one.
    pub fn rpc(&self) -> Option<&RpcError> {
        match self {
            Self::Rpc(error) => Some(error),
            _ => None,
        }
    }

    /// Whether a wait ran out, so that what was waited for goes on.
    pub fn is_wait_run_out(&self) -> bool {
        matches!(self, Self::WaitedOut { .. }) || self.has_code(code::WAIT_RAN_OUT)
    }

    /// The status that the job of a refused call has, where the server says so.
    pub fn status(&self) -> Option<Status> {
        Status::deserialize(self.rpc()?.data.as_ref()?.get("status")?).ok()
    }

    /// Whether the server answered with this code.
    pub fn has_code(&self, code: i32) -> bool {
        self.rpc().is_some_and(|error| error.code == code)
    }
}

/// A JSON-RPC error object.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct RpcError {
    /// One of those in [`code`], or of JSON-RPC's own.
    pub code: i32,
    /// What happened and what to do, for people.
    pub message: String,
    /// What happened, for programs.
    pub data: Option<Value>,
}

impl RpcError {
    /// How the job failed, when this says that it did (codes 1101 and 1103).
    pub fn job_failure(&self) -> Option<JobFailure> {
        JobFailure::deserialize(self.data.as_ref()?).ok()
    }
}

/// The `data` of an error that says how a job ended.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct JobFailure {
    /// The job.
    pub job_id: JobId,
    /// The status it has.
    pub status: Status,
    /// How and where it went wrong.
    pub error: JobError,
    /// The attempt that failed.
    #[serde(default)]
    pub attempt: u32,
}
