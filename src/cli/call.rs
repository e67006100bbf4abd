//! `hero call`: any method and any subscription, by its name.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Deserializer, Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::global::{Global, RECONNECT_TIME};
use super::output;
use super::watch::Presence;
use crate::cli::input::arguments::{Whole, whole};
use crate::client::{self, Client, Followed, code};
use crate::exit::{Exit, Interrupted, Usage};
use crate::model::{JobId, each_once, nearest, tree};

/// Calls a method of the server and prints its answer; for a subscription, each item as it arrives.
#[derive(Debug, Args)]
pub(super) struct Call {
    /// The method, as listed in docs/methods
    method: String,
    /// The parameters: a JSON object by name, a JSON array by position, or a file with either (@- is stdin)
    #[arg(value_name = "JSON|@FILE", default_value = "{}", value_parser = whole)]
    params: Whole,
}

/// Marks the error of a call whose message uses parameter names as sent. It has no text itself.
#[derive(Debug)]
pub(super) struct AsSent;

impl fmt::Display for AsSent {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

type ParamsByName = BTreeMap<String, Box<RawValue>>;

/// Parameters as given. The server checks the values.
#[derive(Clone, Serialize)]
#[serde(untagged)]
enum CallParams {
    Named(ParamsByName),
    Placed(Vec<Box<RawValue>>),
}

impl CallParams {
    fn read(text: &str) -> Result<Self, Usage> {
        let wrong = |error: serde_json::Error| Usage(format!("the parameters: {}", crate::model::without_position(&error.to_string())));
        match text.trim_ascii_start().as_bytes().first() {
            Some(b'{') => each_once(&mut Deserializer::from_str(text)).map(Self::Named).map_err(wrong),
            Some(b'[') => serde_json::from_str(text).map(Self::Placed).map_err(wrong),
            _ => Err(Usage("the parameters are neither a JSON object nor an array".to_owned())),
        }
    }

    /// Returns the parameters by name; `None` if this version does not know the names for all positions.
    fn by_name(self, method: &str) -> Option<ParamsByName> {
        let values = match self {
            Self::Named(named) => return Some(named),
            Self::Placed(values) => values,
        };
        let document = documented();
        let known = document["methods"].as_array()?.iter().find(|known| known["name"] == method)?;
        let names: Option<Vec<&str>> = known["params"].as_array()?.iter().map(|param| param["name"].as_str()).collect();
        let names = names.filter(|names| names.len() >= values.len())?;
        Some(names.into_iter().map(str::to_owned).zip(values).collect())
    }
}

fn documented() -> Value {
    serde_json::from_str(crate::rpc::document()).unwrap_or_default()
}

/// Describes an unknown method name; `None` if this version has such a method.
fn unknown(name: &str) -> Option<String> {
    let document = documented();
    let names: Vec<&str> = document["methods"].as_array()?.iter().filter_map(|method| method["name"].as_str()).collect();
    if names.contains(&name) {
        return None;
    }
    let near = nearest(name, names).map_or("; ".to_owned(), |near| format!("; did you mean {near}? "));
    Some(format!("there is no method {name:?}{near}`hero call rpc.discover` and the page /docs of the server have all of them"))
}

/// Adds an id to a `run_and_wait` call, so that the job is known even if the wait is interrupted. A call with an
/// idempotency key may stand for a job that already has an id.
fn identify(method: &str, given: &mut CallParams) {
    if let ("run_and_wait", CallParams::Named(named)) = (method, given) {
        let has = |name: &str| named.get(name).is_some_and(|value| value.get() != "null");
        if !has("job_id") && !has("idempotency_key") {
            named.insert("job_id".to_owned(), to_raw_value(&JobId::random()).expect("a text can be written"));
        }
    }
}

/// A method that waits for something that continues when the call is interrupted.
struct Waiting {
    noun: &'static str,
    /// The parameter with the id, if the method has one.
    id: Option<&'static str>,
    /// True if the method creates what it waits for.
    makes: bool,
}

impl Waiting {
    fn of(method: &str) -> Option<Self> {
        let (noun, id, makes) = match method {
            "wait_job" => ("job", Some("job_id"), false),
            "run_and_wait" => ("job", Some("job_id"), true),
            "wait_flow" => ("flow", Some("flow_id"), false),
            "run_flow_and_wait" => ("flow", None, true),
            _ => return None,
        };
        Some(Self { noun, id, makes })
    }
}

/// Describes what continues when a waiting call is interrupted, and how to stop it.
fn left(waiting: &Waiting, params: &ParamsByName) -> String {
    let given = |name: &str| match serde_json::from_str(params.get(name)?.get()).ok()? {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let there = given("context_id").filter(|context| context != "0").map(|context| format!(" --context {context}")).unwrap_or_default();
    let Waiting { noun, id, makes } = waiting;
    let unless = if *makes { "if the server took the call" } else { "unless it has ended" };
    match (id.and_then(given), given("idempotency_key")) {
        (Some(id), _) => {
            format!("{noun} {id} goes on, {unless}; `hero {noun} stop {id}{there}` stops it, `hero {noun} wait {id}{there}` waits on")
        }
        (None, Some(_)) => format!(
            "its {noun} goes on, {unless}; the same call waits on for it, and create_{noun} with the same parameters but wait_timeout says which \
             it is, for `hero {noun} stop{there}`"
        ),
        (None, None) => format!("its {noun} goes on, {unless}; `hero {noun} list{there}` shows which it is, for `hero {noun} stop{there}`"),
    }
}

impl Call {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let mut given = CallParams::read(&self.params.clone().text("JSON")?)?;
        identify(&self.method, &mut given);
        let client = global.connect().await?;
        let called = match self.method.strip_prefix("subscribe_") {
            None => self.call(&client, &given).await,
            Some(topic) => self.follow(global, &client, topic, given).await,
        };
        match called {
            Err(error) if error.downcast_ref().is_some_and(|error: &client::Error| error.has_code(code::METHOD_NOT_FOUND)) => {
                // Newer servers may have methods that are unknown here.
                unknown(&self.method).map_or(Err(error), |unknown| Err(Usage(unknown).into()))
            }
            Err(error) => Err(error.context(AsSent)),
            called => called,
        }
    }

    async fn call(&self, client: &Client, given: &CallParams) -> anyhow::Result<Exit> {
        // The parameters contain the timeout.
        let answer = client.call_named_within::<Box<RawValue>>(Duration::MAX, &self.method, given);
        let answer = if let Some(waiting) = Waiting::of(&self.method) {
            let mut interrupts = signal(SignalKind::interrupt())?;
            tokio::select! {
                biased;
                answer = answer => answer?,
                _ = interrupts.recv() => {
                    let params = given.clone().by_name(&self.method).unwrap_or_default();
                    return Err(Interrupted(left(&waiting, &params)).into());
                }
            }
        } else {
            answer.await?
        };
        // serde_json's own reader would take some texts of others for JSON.
        output::json(&tree(answer.get())?)?;
        Ok(Exit::Ok)
    }

    /// Prints the items of a subscription, each once, even after a lost connection.
    async fn follow(&self, global: &Global, client: &Client, topic: &str, given: CallParams) -> anyhow::Result<Exit> {
        let Some(params) = given.by_name(&self.method) else {
            return Err(Usage(format!("give the parameters of {} by their names, in a JSON object", self.method)).into());
        };
        let mut items = client.follow_named(topic, params).await?;
        let mut presence = Presence::of(client, self.method.clone(), RECONNECT_TIME, global.json);
        loop {
            let heard = tokio::select! {
                heard = items.next() => heard,
                never = presence.tell() => match never {},
            };
            match heard {
                Ok(Followed::Item(item)) => output::json(&item.value)?,
                Ok(Followed::Lagged) => output::json(&json!({ "type": "lagged", "cursor": items.cursor() }))?,
                Ok(Followed::Ended) => {
                    output::json(&json!({ "type": "ended" }))?;
                    return Ok(Exit::Ok);
                }
                Err(error) => {
                    let behind =
                        items.cursor().map_or_else(String::new, |cursor| format!(" behind the last item, with the cursor {cursor:?}"));
                    return Err(anyhow::Error::new(error).context(format!("{} ended; subscribe again{behind}", self.method)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(method: &str, params: &str) -> String {
        left(&Waiting::of(method).unwrap(), &CallParams::read(params).unwrap().by_name(method).unwrap())
    }

    #[test]
    fn a_left_call_names_what_continues_by_its_parameters() {
        for (method, params, says) in [
            ("wait_job", r#"{"job_id":"x"}"#, "job x goes on, unless it has ended; `hero job stop x` stops it, `hero job wait x` waits on"),
            ("wait_job", r#"["x",60,5]"#, "`hero job stop x --context 5` stops it"),
            (
                "wait_flow",
                r#"{"flow_id":7}"#,
                "flow 7 goes on, unless it has ended; `hero flow stop 7` stops it, `hero flow wait 7` waits on",
            ),
            ("run_and_wait", r#"{"script":"1","job_id":"x"}"#, "job x goes on, if the server took the call; `hero job stop x` stops it"),
            (
                "run_and_wait",
                r#"{"script":"1","idempotency_key":"k"}"#,
                "create_job with the same parameters but wait_timeout says which it is",
            ),
            ("run_and_wait", r#"["1"]"#, "`hero job list` shows which it is"),
            ("run_flow_and_wait", r#"{"jobs":{}}"#, "`hero flow list` shows which it is"),
        ] {
            let told = told(method, params);
            assert!(told.contains(says), "{method} {params}: {told}");
        }
        assert!(Waiting::of("get_job").is_none());
    }
}
