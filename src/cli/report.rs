use serde_json::json;

use super::exit::{Exit, Usage};
use super::output::{self, Style};
use super::script_error::Wrong;
use super::settings;
use super::wording::worded;
use crate::client::{self, RpcError, code};
use crate::model::Status;

/// The exit code for any error.
fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(error) = error.downcast_ref::<client::Error>() {
        return Exit::of_client(error);
    }
    if let Some(wrong) = error.downcast_ref::<Wrong>() {
        return wrong.exit;
    }
    if error.is::<settings::Invalid>() || error.is::<Usage>() {
        return Exit::Usage;
    }
    let pipe = error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe);
    if pipe { Exit::Ok } else { Exit::Other } // `hero job list | head` is no failure.
}

/// What the user can do about an error, where that is known.
fn advice(error: &client::Error) -> Option<String> {
    Some(match error {
        client::Error::Unreachable { .. } => "start one with `hero serve`, or name another with --server or HERO_SERVER".to_owned(),
        client::Error::Refused { status: 401 | 403, .. } => "set HERO_TOKEN to a token of that server".to_owned(),
        client::Error::Refused { .. } => "check that the address is that of a hero server".to_owned(),
        client::Error::Closed(_) => "look whether the server still runs; jobs that were started go on".to_owned(),
        client::Error::TooLarge { .. } => "make it smaller, or start the server with a larger --max-request".to_owned(),
        client::Error::Rpc(rpc) => match rpc.code {
            code::STORE_UNAVAILABLE => {
                let look = "the server runs; its log and /readyz say more of its Redis";
                match rpc.data.as_ref().and_then(|data| data.get("job_id")?.as_str()) {
                    Some(job) => format!("{look}; look for the job with `hero job show {job}`"),
                    None => look.to_owned(),
                }
            }
            code::OVERSIZED => format!("{}; make it smaller, or start the server with a larger --max-request", limit_of(rpc)?),
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

/// The limit that a request was above, as far as the server tells it.
fn limit_of(rpc: &RpcError) -> Option<String> {
    let data = rpc.data.as_ref()?;
    let limit = data.get("limit").and_then(serde_json::Value::as_u64).map(|limit| format!("the limit is {limit} bytes (max_request)"));
    limit.or_else(|| data.as_str().map(|text| format!("{text} bytes (max_request)")))
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
    let exit = exit_of(error);
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
        // How a job ended is told in the words of its script.
        let ours = client.is_some_and(|error| error.rpc().is_none_or(|rpc| rpc.job_failure().is_none()));
        let (told, style) = (chain(error), Style::stderr());
        let told = if ours { worded(&told) } else { told };
        let (first, more) = if client.is_some() { (told.as_str(), "") } else { told.split_once('\n').unwrap_or((&told, "")) };
        output::note(style.red("error:") + " " + first);
        more.lines().for_each(|line| output::note(format!("       {line}")));
        if let Some(advice) = client.and_then(advice) {
            output::note(format!("       {advice}"));
        }
    }
    exit
}
