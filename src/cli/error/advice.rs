//! Advice for the user about an error, given once and in the terms of the command line.

use serde_json::{Value, json};

use super::unanswered::Unanswered;
use crate::cli::global::has_token;
use crate::cli::input::typed::typed;
use crate::client::{self, RpcError, code};
use crate::model::{FlowId, JobId, ScriptType, Status};

/// A job that continues although the command that waited for it ends.
#[derive(Debug, thiserror::Error)]
#[error("job {job_id} {what}")]
pub(in crate::cli) struct Lost {
    pub(in crate::cli) job_id: JobId,
    pub(in crate::cli) what: &'static str,
}

/// Jobs or a flow that are stored but were not started, or may not have been.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.told())]
pub(in crate::cli) struct Unstarted {
    stored: Stored,
    /// Whether the server confirmed that it did not start them.
    certain: bool,
}

#[derive(Debug)]
enum Stored {
    /// All jobs stored together, and those of them that were not started.
    Jobs(Vec<JobId>, Vec<JobId>),
    Flow(FlowId),
}

impl Unstarted {
    pub(in crate::cli) const fn flow(flow: FlowId) -> Self {
        Self { stored: Stored::Flow(flow), certain: false }
    }

    pub(in crate::cli) fn job(job_id: &JobId) -> Self {
        Self::jobs(std::slice::from_ref(job_id), vec![job_id.clone()])
    }

    pub(in crate::cli) fn jobs(all: &[JobId], left: Vec<JobId>) -> Self {
        Self { stored: Stored::Jobs(all.to_vec(), left), certain: false }
    }

    fn told(&self) -> String {
        let (what, number) = match &self.stored {
            Stored::Flow(flow) => (format!("flow {flow} is stored, but"), 0),
            Stored::Jobs(all, left) => match all.as_slice() {
                [job_id] => (format!("job {job_id} is stored, but"), 0),
                all => (format!("all {} jobs are stored, but", all.len()), left.len()),
            },
        };
        match (self.certain, number) {
            (true, 0) => format!("{what} was not started"),
            (true, 1) => format!("{what} 1 was not started"),
            (true, number) => format!("{what} {number} were not started"),
            (false, 0) => format!("{what} whether it was started is not known"),
            (false, number) => format!("{what} whether {number} of them were started is not known"),
        }
    }

    /// Advises on starting or finding what is stored, so that the user does not create it again.
    pub(in crate::cli) fn advice(&self) -> String {
        let left = match (&self.stored, self.certain) {
            (Stored::Flow(flow), true) => return format!("`hero flow start {flow}` starts it later"),
            (Stored::Flow(flow), false) => return format!("look for the flow with `hero flow show {flow}`"),
            (Stored::Jobs(_, left), _) => left.as_slice(),
        };
        match (left, self.certain) {
            ([job_id], true) => format!("`hero job start {job_id}` starts it later"),
            ([job_id], false) => format!("look for the job with `hero job show {job_id}`"),
            (left, certain) => {
                let ids = left.iter().map(JobId::as_str).collect::<Vec<_>>().join(" ");
                let what = if certain { "starts one of them later" } else { "starts one that was not started" };
                format!("`hero job start ID` {what}: {ids}")
            }
        }
    }

    /// Adds what is stored to the data of an error for programs.
    pub(in crate::cli) fn add_to(&self, data: &mut Option<Value>) {
        let Some(data) = data.get_or_insert_with(|| json!({})).as_object_mut() else { return };
        match &self.stored {
            Stored::Flow(flow) => data.extend([("flow_id".to_owned(), json!(flow))]),
            Stored::Jobs(all, left) => data.extend([("job_ids".to_owned(), json!(all)), ("not_started".to_owned(), json!(left))]),
        }
    }
}

/// Wraps an error between storing jobs or a flow and starting them.
pub(in crate::cli) fn not_started(error: client::Error, unstarted: Unstarted) -> anyhow::Error {
    let unknown =
        |rpc: &RpcError| rpc.code == code::STORE_UNAVAILABLE && rpc.data.as_ref().is_none_or(|data| data["outcome"] != "not_done");
    let certain = error.rpc().is_some_and(|rpc| !unknown(rpc));
    anyhow::Error::from(error).context(Unstarted { certain, ..unstarted })
}

/// Advice at the end of a server's messages, in terms of API methods.
const OF_SERVERS: [&str; 4] =
    ["; wait_job waits on", "; start_job starts it", "; look with get_status, or repeat the call with an idempotency_key", "; try again"];

/// The advice for a caller without a login, in terms of HTTP.
const HEADER: &str = " send `Authorization: Bearer …`, or log in first";

/// Returns a server's message without its advice, where [`advice`] replaces it.
pub(in crate::cli) fn without(message: &str) -> &str {
    // Whether to retry an existing job is told by its own advice.
    if let Some((rest, more)) = message.rsplit_once("; try again in ")
        && more.strip_suffix(" ms").is_some_and(|ms| ms.bytes().all(|digit| digit.is_ascii_digit()))
    {
        return without(rest);
    }
    if let Some(rest) = message.strip_suffix(HEADER) {
        return rest.trim_end_matches([':', ';']);
    }
    match OF_SERVERS.iter().find_map(|advice| message.strip_suffix(advice)) {
        Some(rest) => without(rest),
        None => message,
    }
}

/// Returns what the user can do about an error, if known.
pub(in crate::cli) fn advice(
    error: &client::Error,
    unanswered: Option<&Unanswered>,
    lost: Option<&Lost>,
    unstarted: Option<&Unstarted>,
) -> Option<String> {
    let advice = match (error, unanswered) {
        (client::Error::Timeout { .. }, Some(unanswered)) => Some(unanswered.advice().to_owned()),
        _ => of(error),
    };
    if let Some(unstarted) = unstarted {
        let advice = advice.filter(|_| !unstarted.certain).map(|advice| advice + "; ").unwrap_or_default();
        return Some(format!("{advice}{}", unstarted.advice()));
    }
    let Some(Lost { job_id, .. }) = lost else { return advice };
    let look = format!("look for the job with `hero job show {job_id}`");
    Some(match advice {
        Some(advice) if advice.contains(job_id.as_str()) => advice,
        Some(advice) => format!("{advice}; {look}"),
        None => look,
    })
}

/// For users whom the server, or a proxy in front of it, does not know.
const TOKEN: &str = "set HERO_TOKEN to a token of the server; the operator creates one for you with `hero token create`";
/// For users who do not know whether what they asked for was done.
const LOOK: &str = "check whether it was done before you repeat it; started jobs continue";
/// For users whose token was refused.
const OTHER_TOKEN: &str =
    "the token in HERO_TOKEN is unknown there, was revoked or has expired; the operator creates another with `hero token create`";
/// For users who need the rights of the operator.
const OPERATOR: &str = "the operator is a user who can open hero.sock in the data directory of the server: on that machine leave out HERO_TOKEN and --server \
     (HERO_SERVER), or name it with --server unix://DATA/hero.sock";

/// The commands that connect as the operator where no server is named.
const OF_OPERATOR: [&str; 6] = ["hero context", "hero identity", "hero message", "hero rights", "hero runner", "hero token"];

/// Returns the advice for a caller whom the server does not know. `command` is the command as it was given.
fn unknown_caller(command: &str, has_token: bool) -> &'static str {
    match has_token {
        true => OTHER_TOKEN,
        false if OF_OPERATOR.iter().any(|of| command.starts_with(of)) => OPERATOR,
        false => TOKEN,
    }
}

/// For servers of another version.
const OF_ANOTHER_VERSION: &str = concat!(
    "the server is of another version than this program, ",
    env!("CARGO_PKG_VERSION"),
    ", or no hero server: `hero call server_info` prints what it is"
);
/// For users whose key the server does not know.
const KEY: &str =
    "`hero identity key FILE` prints your public key; the operator creates an identity with it by `hero identity create --pubkey KEY`";
/// For users whom the server knows.
const ROLE: &str = "`hero whoami` shows your roles; an admin of the context gives others with `hero rights grant`";

fn of(error: &client::Error) -> Option<String> {
    Some(match error {
        client::Error::Unreachable { .. } => "start one with `hero serve`, or name another with --server or HERO_SERVER".to_owned(),
        client::Error::Untrusted { .. } => {
            "name the authority of its certificate with --ca FILE or HERO_CA, and the server by the name in its certificate".to_owned()
        }
        client::Error::Token { .. } => {
            "HERO_TOKEN has it: set that to the token alone, as `hero token create` and `hero login` print it".to_owned()
        }
        client::Error::Authority { .. } => {
            "name the file of the authority (PEM) with --ca or HERO_CA; without either, hero trusts those that this machine trusts".to_owned()
        }
        client::Error::Silent { .. } => "check whether the server hangs or is stopped, and whether a firewall lets you through".to_owned(),
        client::Error::Refused { status: 403, .. } => {
            "the server does not know the name by which you reach it; add that to its --allowed-hosts (the origin of a web page to --allowed-origins), \
             or name another address with --server"
        }
        .to_owned(),
        client::Error::Refused { status: 429, .. } => {
            "the server has as many connections as it accepts; try again later, or start it with more: --max-connections, --max-per-address".to_owned()
        }
        client::Error::Refused { status: 401, .. } => unknown_caller(typed(), has_token()).to_owned(),
        client::Error::Refused { status: 400, .. } => {
            "check that the address is that of a hero server; one that speaks TLS is reached by wss://".to_owned()
        }
        client::Error::Foreign(_) | client::Error::Refused { .. } => "check that the address is that of a hero server".to_owned(),
        client::Error::Redirected { .. } => "name the server itself with --server or HERO_SERVER; the other one would get the script and the token".to_owned(),
        client::Error::LoggedOut { method: Some(_), .. } => format!("{TOKEN}; {LOOK}"),
        client::Error::LoggedOut { .. } => format!("{TOKEN}; started jobs continue"),
        client::Error::Unknown { .. } => LOOK.to_owned(),
        client::Error::AnswerTooLarge { .. } => "ask for less at once, such as with a smaller --limit".to_owned(),
        client::Error::Closed(_) => "check whether the server still runs; started jobs continue".to_owned(),
        client::Error::TooLarge { .. } => "make it smaller, or start the server with a larger --max-request".to_owned(),
        client::Error::Broken { .. } => "the log of the server says more; the call goes on there".to_owned(),
        client::Error::WaitedOut { .. } => "started jobs continue; check whether the server still runs".to_owned(),
        client::Error::Timeout { .. } => "check whether the server hangs or is stopped; whether it was done is not known".to_owned(),
        client::Error::OtherServer { .. } => {
            "name the server with --server by its own name; a proxy in front of it must pass on the Host header unchanged".to_owned()
        }
        client::Error::Rpc(rpc) => return of_rpc(rpc),
        client::Error::Shape { .. } => OF_ANOTHER_VERSION.to_owned(),
        client::Error::Address { .. } => return None,
    })
}

fn of_rpc(rpc: &RpcError) -> Option<String> {
    let told = |name| rpc.data.as_ref()?.get(name)?.as_str();
    Some(match rpc.code {
        // The message already says what to do about the key.
        code::STORE_UNAVAILABLE if told("key").is_some() => return None,
        code::STORE_UNAVAILABLE => {
            let cause = "the log of the server and its /readyz say what is wrong with its Redis";
            match (told("outcome"), told("job_id")) {
                (Some("not_done"), _) => format!("try again in a moment; {cause}"),
                (_, Some(job)) => format!("look at the job with `hero job show {job}`; {cause}"),
                (_, None) => format!("check whether it was done before you repeat it; {cause}"),
            }
        }
        code::OVERSIZED => {
            let limit = limit_of(rpc).filter(|_| !rpc.message.contains("max-request"));
            limit.unwrap_or_default() + "make it smaller, or start the server with a larger --max-request"
        }
        code::TOO_LARGE if rpc.message.contains("(script_source)") => {
            "make it smaller, or start the server with a larger --script-source".to_owned()
        }
        code::UNKNOWN_SCRIPT_TYPE if rpc.message.contains("did you mean") || rpc.message.contains("`hero serve ") => {
            "name the type with --type, or script_type in a file; otherwise the name of the file decides".to_owned()
        }
        code::UNKNOWN_SCRIPT_TYPE => {
            let other = "name another type (`hero actor list` shows those with actors)";
            match of_command(&rpc.message) {
                Some(script_type) => format!(
                    "{other}, or let the server run this one by a command: `[script_types.{script_type}] command = [\"{script_type}\", \"{{script}}\"]` \
                     in the file of `hero serve --config FILE`, with a pool, as in examples/commands/hero.toml. For actors of your own, start \
                     them first, or the server with --script-types {script_type}"
                ),
                None => other.to_owned(),
            }
        }
        code::METHOD_NOT_FOUND => OF_ANOTHER_VERSION.to_owned(),
        code::JOB_NOT_FOUND => "`hero job list` shows those that exist".to_owned(),
        code::NOT_AUTHENTICATED if rpc.message.contains("public key") => KEY.to_owned(),
        code::DENIED if rpc.message.contains("allowed_hosts") => return None,
        code::NOT_AUTHENTICATED => unknown_caller(typed(), has_token()).to_owned(),
        code::DENIED if rpc.message.contains("operator") => OPERATOR.to_owned(),
        code::DENIED => ROLE.to_owned(),
        code::WAIT_RAN_OUT => match told("status") {
            Some(status) if status == Status::Created.as_str() => format!("start it with `hero job start {}`", told("job_id")?),
            _ => format!("go on waiting with `hero job wait {}`", told("job_id")?),
        },
        _ => return None,
    })
}

/// Returns the unknown script type of a message, if a command could run its scripts. Programs in Rust run those of
/// `rust`, which the message explains.
fn of_command(message: &str) -> Option<&str> {
    let (script_type, _) = message.strip_prefix("script type ")?.split_once(' ')?;
    (script_type != ScriptType::RUST).then_some(script_type)
}

/// Returns the exceeded limit, if the data of the error contains it.
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
        for message in ["not authenticated: send", "not authenticated: a request needs a token; send"] {
            let (left, _) = message.rsplit_once([':', ';']).unwrap();
            assert_eq!(without(&format!("{message} `Authorization: Bearer …`, or log in first")), left);
        }
    }

    #[test]
    fn a_caller_whom_the_server_does_not_know_is_told_about_the_token_or_the_socket_of_the_operator() {
        assert_eq!(unknown_caller("hero job list", false), TOKEN);
        assert_eq!(unknown_caller("hero token create", false), OPERATOR);
        assert_eq!(unknown_caller("hero token create", true), OTHER_TOKEN);
    }

    #[test]
    fn an_unknown_script_type_is_told_with_the_command_that_could_run_it() {
        let of = |script_type: &str| {
            let message = format!("script type {script_type} is not built in, not configured and has no live actor (known: osis, sal)");
            advice(&RpcError { code: code::UNKNOWN_SCRIPT_TYPE, message, data: None }.into(), None, None, None).unwrap()
        };
        let told = of("bash");
        assert!(told.contains(r#"`[script_types.bash] command = ["bash", "{script}"]`"#) && told.contains("examples/commands/hero.toml"));
        assert!(!told.contains("python") && !of("rust").contains("script_types"), "{told}");
    }

    #[test]
    fn who_is_logged_out_during_a_change_is_told_to_look_what_became_of_it() {
        let of = |method: Option<&str>| {
            let error = client::Error::LoggedOut { why: "it has ended".to_owned(), method: method.map(str::to_owned), keys: Vec::new() };
            (advice(&error, None, None, None).unwrap(), error.to_string())
        };
        let (advice, told) = of(Some("create_job"));
        assert!(advice.contains(LOOK) && told.ends_with("whether create_job was done is not known"), "{told}; {advice}");
        let (advice, told) = of(None);
        assert!(!advice.contains(LOOK) && advice.ends_with("continue") && told.ends_with("it has ended"), "{told}; {advice}");
    }

    #[test]
    fn a_lost_job_is_named_once() {
        let id: JobId = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70".parse().unwrap();
        let lost = Lost { job_id: id.clone(), what: "was not seen to its end" };
        let data = |outcome: &str| Some(serde_json::json!({ "outcome": outcome, "job_id": id }));
        for outcome in ["unknown", "not_done"] {
            let error = RpcError { code: code::STORE_UNAVAILABLE, message: "the store is unavailable".to_owned(), data: data(outcome) };
            let advice = advice(&error.into(), None, Some(&lost), None).unwrap();
            assert_eq!(advice.matches(id.as_str()).count(), 1, "{advice}");
        }
        assert!(advice(&client::Error::Closed("it ended".to_owned()), None, Some(&lost), None).unwrap().contains("`hero job show 6f1c"));
    }
}
