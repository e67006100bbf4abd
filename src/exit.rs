use crate::client::{self, RpcError, code};
use crate::model::ErrorKind;

/// Exit codes of the program. Scripts rely on these numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The command succeeded.
    Ok = 0,
    /// An error without a code of its own.
    Other = 1,
    /// The arguments or settings are wrong.
    Usage = 2,
    /// The job failed.
    JobFailed = 3,
    /// The job was stopped.
    JobStopped = 4,
    /// The job timed out.
    JobTimedOut = 5,
    /// The wait timed out; the job continues.
    WaitRanOut = 6,
    /// No server answers.
    Unreachable = 7,
    /// The server does not allow it.
    Denied = 8,
    /// Ctrl-C ended the command before the job, flow or measurement that it waited for had ended.
    Interrupted = 130,
}

/// The arguments can be parsed but are wrong.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Usage(pub(super) String);

/// Ctrl-C ended a command early. The text says what becomes of that for which it waited.
#[derive(Debug, thiserror::Error)]
#[error("interrupted; {0}")]
pub(crate) struct Interrupted(pub(crate) String);

impl Exit {
    /// Returns the exit code for an error of the server.
    pub fn of_rpc(error: &RpcError) -> Self {
        match error.code {
            code::JOB_FAILED => match error.job_failure().map(|failure| failure.error.kind) {
                Some(ErrorKind::Timeout) => Self::JobTimedOut,
                Some(ErrorKind::Stopped) => Self::JobStopped,
                _ => Self::JobFailed,
            },
            code::JOB_STOPPED => Self::JobStopped,
            code::WAIT_RAN_OUT => Self::WaitRanOut,
            code::DENIED | code::NOT_AUTHENTICATED => Self::Denied,
            code::BAD_PARAMS => Self::Usage,
            _ => Self::Other,
        }
    }

    /// Returns the exit code for an error of the client.
    pub fn of_client(error: &client::Error) -> Self {
        match error {
            client::Error::Rpc(error) => Self::of_rpc(error),
            client::Error::Address { .. } | client::Error::Token { .. } | client::Error::Authority { .. } => Self::Usage,
            client::Error::WaitedOut { .. } => Self::WaitRanOut,
            client::Error::Refused { status: 401 | 403, .. } | client::Error::LoggedOut { .. } | client::Error::OtherServer { .. } => {
                Self::Denied
            }
            client::Error::Unreachable { .. }
            | client::Error::Untrusted { .. }
            | client::Error::Silent { .. }
            | client::Error::Timeout { .. }
            | client::Error::Closed(_)
            | client::Error::Unknown { .. }
            | client::Error::Foreign(_)
            | client::Error::Redirected { .. }
            | client::Error::Refused { .. } => Self::Unreachable,
            client::Error::TooLarge { .. }
            | client::Error::AnswerTooLarge { .. }
            | client::Error::Shape { .. }
            | client::Error::Broken { .. } => Self::Other,
        }
    }
}

/// Formats an error with its causes. Leaves out a cause whose text its parent already contains.
pub(super) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !text.ends_with(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    text
}
