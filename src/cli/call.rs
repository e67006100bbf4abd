//! `hero call`: any method, and any subscription, by its name.

use std::fmt;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use jsonrpsee::core::client::SubscriptionCloseReason;
use serde_json::Value;

use super::arguments::{Whole, whole};
use super::global::Global;
use super::output;
use crate::client::{self, Client, code};
use crate::exit::{Exit, Usage};
use crate::server::settings::nearest;

/// Calls a method of the server and prints its answer; of a subscription, each item as it comes.
#[derive(Debug, Args)]
pub(super) struct Call {
    /// The method, as docs/methods has it
    method: String,
    /// Its parameters: a JSON object by their names, or an array by their places; or a file that has them (@- is stdin)
    #[arg(value_name = "JSON|@FILE", default_value = "{}", value_parser = whole)]
    params: Whole,
}

/// Stands in an error of a call, whose message names parameters as they are sent. It says nothing itself.
#[derive(Debug)]
pub(super) struct AsSent;

impl fmt::Display for AsSent {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// What to say of a name that no method of this version has; nothing if there is one.
fn unknown(name: &str) -> Option<String> {
    let document: Value = serde_json::from_str(crate::rpc::document()).unwrap_or_default();
    let names: Vec<&str> = document["methods"].as_array()?.iter().filter_map(|method| method["name"].as_str()).collect();
    if names.contains(&name) {
        return None;
    }
    let near = nearest(name, names.into_iter()).map_or("; ".to_owned(), |near| format!("; did you mean {near}? "));
    Some(format!("there is no method {name:?}{near}`hero call rpc.discover` and the page /docs of the server have all of them"))
}

impl Call {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let params = self.params.clone().value("JSON")?;
        if !(params.is_object() || params.is_array()) {
            return Err(Usage("the parameters are neither a JSON object nor an array".to_owned()).into());
        }
        let client = global.connect().await?;
        match self.call(&client, &params).await {
            Err(error) if error.downcast_ref().is_some_and(|error: &client::Error| error.has_code(code::METHOD_NOT_FOUND)) => {
                // One of a newer server is there.
                unknown(&self.method).map_or(Err(error), |unknown| Err(Usage(unknown).into()))
            }
            Err(error) => Err(error.context(AsSent)),
            called => called,
        }
    }

    async fn call(&self, client: &Client, params: &Value) -> anyhow::Result<Exit> {
        let Some(topic) = self.method.strip_prefix("subscribe_") else {
            // How long it may wait is among its parameters.
            let answer: Value = client.call_within(Duration::MAX, &self.method, params).await?;
            output::json(&answer)?;
            return Ok(Exit::Ok);
        };
        let (mut items, wire) = client.subscribe::<Value>(topic, params).await?;
        while let Some(item) = items.next().await {
            let item = item?;
            output::json(&item)?;
            if item["type"] == "ended" {
                return Ok(Exit::Ok);
            }
        }
        match items.close_reason() {
            Some(SubscriptionCloseReason::Lagged) => {
                bail!("items came faster than they were printed; subscribe again, with the `cursor` of the last one")
            }
            _ if wire.is_connected() => {
                // It says why when it is asked again: a right that was taken away, or a store that cannot be read now.
                client.subscribe::<Value>(topic, params).await?;
                bail!("the server ended this subscription without \"ended\"; subscribe again, with the `cursor` of the last item")
            }
            _ => {
                let lost = anyhow::Error::new(wire.ended().await);
                Err(lost.context("the subscription ended with its connection; subscribe again, with the `cursor` of the last item"))
            }
        }
    }
}
