use serde_json::json;

use super::output::{self, Style};
use super::script_error::Wrong;
use super::settings;
use crate::client::{self, RpcError, code};
use crate::model::{ErrorKind, Status};

/// What the program says at its end. The numbers are promised to scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// All went well.
    Ok = 0,
    /// Something went wrong that has no number of its own.
    Other = 1,
    /// The arguments or settings cannot be meant.
    Usage = 2,
    /// The job failed.
    JobFailed = 3,
    /// The job was stopped.
    JobStopped = 4,
    /// The job ran out of time.
    JobTimedOut = 5,
    /// The wait ran out, the job goes on.
    WaitRanOut = 6,
    /// No server answers.
    Unreachable = 7,
    /// The server does not allow it.
    Denied = 8,
}

/// Arguments that parse but cannot be meant.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Usage(pub(super) String);

impl Exit {
    /// The exit code for an error of the server.
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

    /// The exit code for an error of the client.
    pub fn of_client(error: &client::Error) -> Self {
        match error {
            client::Error::Rpc(error) => Self::of_rpc(error),
            client::Error::Address { .. } => Self::Usage,
            client::Error::Refused { status: 401 | 403, .. } => Self::Denied,
            client::Error::Unreachable { .. } | client::Error::Closed(_) | client::Error::Refused { .. } => Self::Unreachable,
            client::Error::Timeout { .. } | client::Error::Shape { .. } => Self::Other,
        }
    }

    /// The exit code for any error.
    pub fn of(error: &anyhow::Error) -> Self {
        if let Some(error) = error.downcast_ref::<client::Error>() {
            return Self::of_client(error);
        }
        if let Some(wrong) = error.downcast_ref::<Wrong>() {
            return wrong.exit;
        }
        if error.is::<settings::Invalid>() || error.is::<Usage>() {
            return Self::Usage;
        }
        let pipe = error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
        if pipe { Self::Ok } else { Self::Other } // `hero job list | head` is no failure.
    }
}

/// What the user can do about an error, where that is known.
fn advice(error: &client::Error) -> Option<String> {
    Some(match error {
        client::Error::Unreachable { .. } => "start one with `hero serve`, or name another with --server or HERO_SERVER".to_owned(),
        client::Error::Refused { status: 401 | 403, .. } => "set HERO_TOKEN to a token of that server".to_owned(),
        client::Error::Refused { .. } => "check that the address is that of a hero server".to_owned(),
        client::Error::Closed(_) => "look whether the server still runs; jobs that were started go on".to_owned(),
        client::Error::Rpc(rpc) => match rpc.code {
            code::JOB_NOT_FOUND => "`hero job list` shows those that exist".to_owned(),
            code::DENIED | code::NOT_AUTHENTICATED => "set HERO_TOKEN to a token with the right to do this".to_owned(),
            code::WAIT_RAN_OUT => {
                let of_job = |name| rpc.data.as_ref()?.get(name)?.as_str();
                let verb = if of_job("status") == Some(Status::Created.as_str()) {
                    "start it with `hero job start"
                } else {
                    "go on waiting with `hero job wait"
                };
                format!("{verb} {}`", of_job("job_id")?)
            }
            _ => return None,
        },
        _ => return None,
    })
}

/// An error with its causes, but for those that it has told itself.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string).filter(|cause| !cause.is_empty()) {
        if !text.ends_with(&cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(&cause);
        }
    }
    text
}

/// Tells the user of an error: on stderr for people, as a document on stdout with `--json`.
pub(super) fn report(error: &anyhow::Error, json: bool) -> Exit {
    let exit = Exit::of(error);
    if exit == Exit::Ok {
        return exit;
    }
    let (client, wrong) = (error.downcast_ref::<client::Error>(), error.downcast_ref::<Wrong>());
    if json {
        let rpc = client.and_then(client::Error::rpc);
        let document = json!({ "error": {
            "code": rpc.map(|rpc| rpc.code),
            "message": chain(error),
            "data": wrong.map(|wrong| json!({ "error": wrong.error })).as_ref().or(rpc.and_then(|rpc| rpc.data.as_ref())),
        }, "exit_code": exit as u8 });
        let _ = output::json(&document); // Nobody is left to tell.
    } else if let Some(wrong) = wrong {
        wrong.render(Style::stderr()).into_iter().for_each(output::note);
    } else {
        // What a server says is one line; of our own errors some bring lines of a log.
        let (told, style) = (chain(error), Style::stderr());
        let (first, more) = if client.is_some() { (told.as_str(), "") } else { told.split_once('\n').unwrap_or((&told, "")) };
        output::note(style.red("error:") + " " + first);
        more.lines().for_each(|line| output::note(format!("       {line}")));
        if let Some(advice) = client.and_then(advice) {
            output::note(format!("       {advice}"));
        }
    }
    exit
}
