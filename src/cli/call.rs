//! `hero call`: any method, and any subscription, by its name.

use std::time::Duration;

use anyhow::bail;
use clap::Args;
use jsonrpsee::core::client::SubscriptionCloseReason;
use serde_json::Value;

use super::exit::Exit;
use super::global::Global;
use super::output;
use crate::model::tree;

/// Calls a method of the server and prints its answer; of a subscription, each item as it comes.
#[derive(Debug, Args)]
pub(super) struct Call {
    /// The method, as docs/methods has it
    method: String,
    /// Its parameters: a JSON object by their names, or an array by their places
    #[arg(value_name = "JSON", default_value = "{}", value_parser = parameters)]
    params: Value,
}

fn parameters(text: &str) -> Result<Value, String> {
    match tree(text) {
        Ok(params @ (Value::Object(_) | Value::Array(_))) => Ok(params),
        Ok(_) => Err("it is neither an object nor an array".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

impl Call {
    pub(super) async fn main(&self, global: &Global) -> anyhow::Result<Exit> {
        let client = global.connect().await?;
        let Some(topic) = self.method.strip_prefix("subscribe_") else {
            // How long it may wait is among its parameters.
            let answer: Value = client.call_within(Duration::MAX, &self.method, &self.params).await?;
            output::json(&answer)?;
            return Ok(Exit::Ok);
        };
        let mut items = client.subscribe::<Value>(topic, &self.params).await?;
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
            _ if client.is_connected() => {
                // It says why when it is asked again: a right that was taken away, or a store that cannot be read now.
                client.subscribe::<Value>(topic, &self.params).await?;
                bail!("the server ended this subscription without \"ended\"; subscribe again, with the `cursor` of the last item")
            }
            _ => Err(client.why_closed().await.into()),
        }
    }
}
