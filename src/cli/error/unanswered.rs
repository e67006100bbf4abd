//! Calls whose answer did not come: what is known of the server, and of what was asked for.

use std::time::Duration;

use crate::client::{self, Trust, readiness};
use crate::model::api::Repeatable;

/// How long to wait for what the server says of itself. It needs 5 s to find that its Redis hangs.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(6);

/// The facts known about a call without an answer. It is one of the causes of the error, and its text replaces that of
/// the client, which names a method.
#[derive(Debug, thiserror::Error)]
#[error("")]
pub(in crate::cli) struct Unanswered {
    /// What happened, in the words of the command line.
    told: String,
    /// The same in the words of the client.
    instead_of: String,
    /// Whether the server says that it is not ready.
    is_unready: bool,
}

impl Unanswered {
    /// Returns the text of an error with this as one of its causes.
    pub(in crate::cli) fn on(&self, told: &str) -> String {
        told.replace(&self.instead_of, &self.told)
    }

    pub(in crate::cli) fn advice(&self) -> &'static str {
        if self.is_unready {
            "try again when it is ready; its log says what is wrong with its Redis"
        } else {
            "check whether the server hangs or is stopped"
        }
    }
}

/// Adds to an error what is known of a call without an answer. `command` is the command as it was given.
pub(in crate::cli) async fn explained(error: anyhow::Error, command: &str, address: &str, trust: Trust) -> anyhow::Error {
    let Some(client) = error.downcast_ref::<client::Error>() else { return error };
    let (method, ready, what) = match client {
        client::Error::Timeout { method, after, .. } => {
            let ready = readiness(address, trust, ANSWER_TIMEOUT).await;
            (method, ready, format!("`{command}` had no answer within {} s", after.as_secs()))
        }
        client::Error::Unknown { method, why, .. } => {
            (method, None, format!("the connection to the server was lost before `{command}` had its answer: {why}"))
        }
        client::Error::LoggedOut { method: Some(method), why, .. } => {
            (method, None, format!("the server closed the connection before `{command}` had its answer: {why}"))
        }
        _ => return error,
    };
    let told = match (&ready, client) {
        (Some(Err(why)), _) => format!("the server is not ready: {why}"),
        (_, client::Error::Unknown { .. } | client::Error::LoggedOut { .. }) => what,
        (Some(Ok(())), _) => format!("the server says that it is ready, but {what}"),
        (None, _) => format!("the server does not answer: {what}"),
    };
    // What stands before already says it of a job that is stored.
    let is_told = error.to_string() != client.to_string();
    let left = if is_told { "" } else { left(method) };
    let told = Unanswered { told: told + left, instead_of: client.to_string(), is_unready: matches!(ready, Some(Err(_))) };
    error.context(told)
}

/// Says what is known of that which a method was to do.
fn left(method: &str) -> &'static str {
    match method {
        "create_job" | "run_and_wait" => "; the job could not be created, or it is not known whether it was",
        "create_jobs" => "; the jobs could not be created, or it is not known whether they were",
        "create_flow" | "run_flow_and_wait" => "; the flow could not be created, or it is not known whether it was",
        method if Repeatable::of(method) == Repeatable::Always => "",
        _ => "; whether it was done is not known",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_outcome_is_reported_once() {
        let lost = || client::Error::Unknown { method: "create_job".into(), why: "it ended".into(), keys: Vec::new() };
        let told = async |error: anyhow::Error| {
            let error = explained(error, "hero run", "ws://127.0.0.1:1", Trust::Machine).await;
            error.downcast_ref::<Unanswered>().unwrap().on(&crate::exit::chain(&error))
        };
        let alone = told(lost().into()).await;
        assert_eq!(
            alone,
            "the connection to the server was lost before `hero run` had its answer: it ended; the job could not be created, or it is not known \
             whether it was"
        );
        let method = Some("delete_job".to_owned());
        let logged_out = client::Error::LoggedOut { why: "the token has ended".into(), method, keys: Vec::new() };
        let alone = told(logged_out.into()).await;
        let said =
            "the server closed the connection before `hero run` had its answer: the token has ended; whether it was done is not known";
        assert_eq!(alone, said);
        let stored = told(anyhow::Error::from(lost()).context("job 1 is stored")).await;
        assert_eq!(stored, "job 1 is stored: the connection to the server was lost before `hero run` had its answer: it ended");
    }
}
