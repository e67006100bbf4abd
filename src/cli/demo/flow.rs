use std::time::Duration;

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::calls::{Calls, expect};
use crate::model::{ContextId, Flow, FlowId, Runner};

/// Timeout for each change of the flow.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a flow whose second job runs in another context, which is created for it.
pub(super) async fn run(calls: &Calls, context: ContextId) -> anyhow::Result<()> {
    calls.title("A context can be made while the server runs: with objects, files and rights of its own")?;
    let other: crate::model::Context = serde_json::from_value(calls.call("create_context", json!({ "name": "accounting" })).await?)?;
    let spec = json!({ "script_type": "osis", "local": false, "address": "here", "target_context": other.context_id, "name": "accounts" });
    let runner: Runner = serde_json::from_value(calls.call("create_runner", spec).await?)?;
    calls
        .title("A flow is jobs that wait for each other, here over two contexts; on two machines it is the same (docs/two-machines.md)")?;
    let jobs = json!({
        "orders": { "script": "[20, 7, 15]" },
        "booked": { "script": "inputs.orders.sum()", "runner": runner.runner_id, "depends_on": ["orders"] },
        "letter": { "script": "`${env.WHO} booked ${inputs.booked}`", "depends_on": ["booked"] },
    });
    let id: FlowId = serde_json::from_value(calls.call("create_flow", json!({ "jobs": jobs, "env_vars": { "WHO": "Ada" } })).await?)?;
    let mut changes = calls.client.follow_flow(context, id, None).await?;
    calls.call("start_flow", json!({ "flow_id": id })).await?;
    while let Some(change) = timeout(CHANGE_TIMEOUT, changes.next()).await.context("nothing became of the flow")??.item() {
        let Some((job, status)) = change.job.as_ref().zip(change.job_status) else { continue };
        calls.show_item("flow", &json!({ "job": job, "status": status, "open": change.open }))?;
    }
    let flow: Flow = serde_json::from_value(calls.call("wait_flow", json!({ "flow_id": id })).await?)?;
    expect("what the letter says", &flow.result.get("letter").map(String::as_str), &Some("Ada booked 42"))?;
    calls.show_item("result", &json!(flow.result))?;
    calls.show_lines(flow.graph.lines().take_while(|line| !line.contains("classDef")).map(|line| line.to_owned().into()).collect())?;
    let page = calls.call("list_jobs", json!({ "context_id": other.context_id })).await?;
    let elsewhere: Vec<&Value> = page["jobs"].as_array().into_iter().flatten().map(|job| &job["output"]).collect();
    expect("what ran in the other context", &elsewhere, &vec![&json!("42")])
}
