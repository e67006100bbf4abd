//! What a user is told to do about an error: once, in the words of the command line.

use crate::client::{self, RpcError, code};
use crate::model::{JobId, Status};

/// A job that goes on although the command that waited for it ends, and what is known of it.
#[derive(Debug, thiserror::Error)]
#[error("job {job_id} {what}")]
pub(super) struct Lost {
    pub(super) job_id: JobId,
    pub(super) what: &'static str,
}

/// The advice at the end of a server's messages, which is meant for callers of its methods.
const OF_SERVERS: [&str; 4] =
    ["; wait_job waits on", "; start_job starts it", "; look with get_status, or repeat the call with an idempotency_key", "; try again"];

/// A message of a server without its advice, where [`advice`] gives other.
pub(super) fn without(message: &str) -> &str {
    match OF_SERVERS.iter().find_map(|advice| message.strip_suffix(advice)) {
        Some(rest) => without(rest),
        None => message,
    }
}

/// What the user can do about an error, where that is known.
pub(super) fn advice(error: &client::Error, lost: Option<&Lost>) -> Option<String> {
    let advice = of(error);
    let Some(Lost { job_id, .. }) = lost else { return advice };
    let look = format!("look for the job with `hero job show {job_id}`");
    Some(match advice {
        Some(advice) if advice.contains(job_id.as_str()) => advice,
        Some(advice) => format!("{advice}; {look}"),
        None => look,
    })
}

fn of(error: &client::Error) -> Option<String> {
    Some(match error {
        client::Error::Unreachable { .. } => "start one with `hero serve`, or name another with --server or HERO_SERVER".to_owned(),
        client::Error::Refused { status: 401 | 403, .. } => "set HERO_TOKEN to a token of that server".to_owned(),
        client::Error::Refused { .. } => "check that the address is that of a hero server".to_owned(),
        client::Error::Closed(_) => "look whether the server still runs; jobs that were started go on".to_owned(),
        client::Error::TooLarge { .. } => "make it smaller, or start the server with a larger --max-request".to_owned(),
        client::Error::Timeout { .. } => "look at the log of the server; whether it was done is not known".to_owned(),
        client::Error::Rpc(rpc) => return of_rpc(rpc),
        client::Error::Address { .. } | client::Error::Shape { .. } => return None,
    })
}

fn of_rpc(rpc: &RpcError) -> Option<String> {
    let told = |name| rpc.data.as_ref()?.get(name)?.as_str();
    Some(match rpc.code {
        code::STORE_UNAVAILABLE => {
            let cause = "the log of the server and its /readyz say what is wrong with its Redis";
            match (told("outcome"), told("job_id")) {
                (Some("not_done"), _) => format!("try again when it does; {cause}"),
                (_, Some(job)) => format!("look at the job with `hero job show {job}`; {cause}"),
                (_, None) => format!("look what became of it before you repeat it; {cause}"),
            }
        }
        code::OVERSIZED => {
            let limit = limit_of(rpc).filter(|_| !rpc.message.contains("max-request"));
            limit.unwrap_or_default() + "make it smaller, or start the server with a larger --max-request"
        }
        code::TOO_LARGE if rpc.message.contains("(script_source)") => {
            "make it smaller, or start the server with a larger --script-source".to_owned()
        }
        code::JOB_NOT_FOUND => "`hero job list` shows those that exist".to_owned(),
        code::DENIED | code::NOT_AUTHENTICATED => "set HERO_TOKEN to a token with the right to do this".to_owned(),
        code::WAIT_RAN_OUT => match told("status") {
            Some(status) if status == Status::Created.as_str() => format!("start it with `hero job start {}`", told("job_id")?),
            _ => format!("go on waiting with `hero job wait {}`", told("job_id")?),
        },
        _ => return None,
    })
}

/// The limit that a request exceeded, if the server gives it in the data of its error.
fn limit_of(rpc: &RpcError) -> Option<String> {
    let data = rpc.data.as_ref()?;
    let limit = data.get("limit").and_then(serde_json::Value::as_u64).map(|limit| format!("the limit is {limit} bytes (max_request); "));
    limit.or_else(|| data.as_str().map(|text| format!("{text} bytes (max_request); ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_line_advises_itself_is_left_out_of_the_message() {
        assert_eq!(
            without("job 1 is still created: it was never started; start_job starts it; wait_job waits on"),
            "job 1 is still created: it was never started"
        );
        assert_eq!(without("the store is unavailable and nothing was done; try again"), "the store is unavailable and nothing was done");
        assert_eq!(
            without("the queue is paused; resume_queue has it served again"),
            "the queue is paused; resume_queue has it served again"
        );
    }

    #[test]
    fn a_lost_job_is_named_once() {
        let id: JobId = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().unwrap();
        let lost = Lost { job_id: id.clone(), what: "was not seen to its end" };
        let data = |outcome: &str| Some(serde_json::json!({ "outcome": outcome, "job_id": id }));
        for outcome in ["unknown", "not_done"] {
            let error = RpcError { code: code::STORE_UNAVAILABLE, message: "the store is unavailable".to_owned(), data: data(outcome) };
            let advice = advice(&error.into(), Some(&lost)).unwrap();
            assert_eq!(advice.matches(id.as_str()).count(), 1, "{advice}");
        }
        assert!(advice(&client::Error::Closed("it ended".to_owned()), Some(&lost)).unwrap().contains("`hero job show 6f1c"));
    }
}
