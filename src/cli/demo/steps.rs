use std::time::Duration;

use anyhow::Context as _;
use serde_json::json;
use tokio::time::timeout;

use super::calls::{Calls, expect};
use super::{flow, languages};
use crate::cli::error::script_error;
use crate::cli::output::Style;
use crate::client::code;
use crate::model::{ContextId, JobId, Status, Timestamp};

const ARGS: &str = include_str!("../../../examples/args.rhai");
const ENDLESS: &str = include_str!("../../../examples/endless.rhai");
const FILES: &str = include_str!("../../../examples/files.rhai");
const FAILING: &str = include_str!("../../../examples/failing.rhai");
const PRIMES: &str = include_str!("../../../examples/primes.rhai");
const CHILDREN: &str = include_str!("../../../examples/children.rhai");
const OBJECTS: &str = include_str!("../../../examples/objects.rhai");
const PROGRESS: &str = include_str!("../../../examples/progress.rhai");
const REPORT: &str = include_str!("../../../examples/report.rhai");

/// The context of the demo.
const CONTEXT: ContextId = ContextId(0);
/// Timeout for a step of the demo.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs every step, in order.
pub(super) async fn run(calls: &Calls) -> anyhow::Result<()> {
    answer(calls).await?;
    arguments(calls).await?;
    follow(calls).await?;
    failure(calls).await?;
    stop(calls).await?;
    delay(calls).await?;
    retry(calls).await?;
    objects(calls).await?;
    files(calls).await?;
    relatives(calls).await?;
    languages::run(calls).await?;
    flow::run(calls, CONTEXT).await?;
    look(calls).await
}

async fn answer(calls: &Calls) -> anyhow::Result<()> {
    calls.title("One call runs a script and waits for its result")?;
    let result = calls.call("run_and_wait", json!({ "script": "40 + 2" })).await?;
    expect("the value", &result["value"], &json!(42))
}

async fn arguments(calls: &Calls) -> anyhow::Result<()> {
    calls.title("Scripts take any JSON as args and give any JSON back (examples/args.rhai, primes.rhai, report.rhai)")?;
    let args = json!({ "name": "Ada", "numbers": [12, 30] });
    let result = calls.call("run_and_wait", json!({ "script": ARGS, "args": args })).await?;
    expect("the value", &result["value"], &json!({ "greeting": "Hello, Ada!", "count": 2, "total": 42 }))?;
    let result = calls.call("run_and_wait", json!({ "script": PRIMES, "args": { "below": 5000 } })).await?;
    expect("the value", &result["value"], &json!({ "count": 669, "largest": 4999 }))?;
    let orders = json!([{ "customer": "Ada", "amount": 20 }, { "customer": "Grace", "amount": 7 }, { "customer": "Ada", "amount": 22 }]);
    let result = calls.call("run_and_wait", json!({ "script": REPORT, "args": { "orders": orders } })).await?;
    expect("the value", &result["value"], &json!("Ada       42\nGrace     7\n"))
}

async fn follow(calls: &Calls) -> anyhow::Result<()> {
    calls.title("A job's log arrives while it runs (examples/progress.rhai)")?;
    let job_id = calls.create(json!({ "script": PROGRESS, "name": "progress" })).await?;
    let mut logs = calls.client.follow_logs(CONTEXT, &job_id, None).await?;
    calls.call("start_job", json!({ "job_id": job_id })).await?;
    for step in 1..=5 {
        let line = timeout(STEP_TIMEOUT, logs.next()).await.context("the log did not arrive")??.item().context("the log ended early")?;
        calls.show_item("logs", &json!(line.text))?;
        expect("the line", &line.text.starts_with(&format!("step {step} of 5")), &true)?;
    }
    let result = calls.call("wait_job", json!({ "job_id": job_id })).await?;
    expect("the value", &result["value"], &json!(130))
}

async fn failure(calls: &Calls) -> anyhow::Result<()> {
    calls.title("A script that fails says where (examples/failing.rhai)")?;
    let error = calls.refused("run_and_wait", json!({ "script": FAILING }), code::JOB_FAILED).await?;
    let failure = error.job_failure().context("the error has no data about the job")?;
    expect("line and column are known", &(failure.error.line.is_some() && failure.error.column.is_some()), &true)?;
    expect("the message names the cause", &failure.error.message.contains("no price for plum"), &true)?;
    let rendered = script_error::render(Style::stdout(), "examples/failing.rhai", FAILING, None, &failure.error);
    calls.show_lines(vec!["`hero run` shows that as".into()])?;
    calls.show_lines(rendered)
}

async fn stop(calls: &Calls) -> anyhow::Result<()> {
    calls.title("A running script can be stopped (examples/endless.rhai)")?;
    let job_id = calls.create(json!({ "script": ENDLESS, "name": "endless" })).await?;
    let mut changes = calls.client.follow_job(CONTEXT, &job_id).await?;
    calls.call("start_job", json!({ "job_id": job_id })).await?;
    loop {
        let change =
            timeout(STEP_TIMEOUT, changes.next()).await.context("the job did not start")??.item().context("the job ended early")?;
        calls.show_item("job", &json!(change.status))?;
        if change.status == Status::Started {
            break;
        }
    }
    calls.call("stop_job", json!({ "job_id": job_id })).await?;
    calls.show_lines(vec![
        "it has ended now: all ends but a good one are \"error\" on the wire, and what kind it was stands beside it".into(),
    ])?;
    calls.refused("wait_job", json!({ "job_id": job_id }), code::JOB_STOPPED).await.map(drop)
}

async fn delay(calls: &Calls) -> anyhow::Result<()> {
    calls.title("A job can wait for its time")?;
    let due = Timestamp::local().plus(Duration::from_secs(1));
    let job_id = calls.create(json!({ "script": "\"on time\"", "run_at": due })).await?;
    let status = calls.call("start_job", json!({ "job_id": job_id })).await?;
    expect("the status", &status, &json!(Status::Scheduled))?;
    let result = calls.call("wait_job", json!({ "job_id": job_id })).await?;
    expect("the value", &result["value"], &json!("on time"))?;
    let started: Timestamp = serde_json::from_value(result["started_at"].clone())?;
    expect("it started after its time", &(started >= due.minus(Duration::from_millis(20))), &true)
}

async fn retry(calls: &Calls) -> anyhow::Result<()> {
    calls.title("A job that fails can be tried again, with growing pauses")?;
    let spec = json!({ "script": "throw \"still broken\"", "retries": 2, "retry_backoff": 0.1 });
    let error = calls.refused("run_and_wait", spec, code::JOB_FAILED).await?;
    let failure = error.job_failure().context("the error has no data about the job")?;
    expect("the attempt", &failure.attempt, &3)
}

async fn objects(calls: &Calls) -> anyhow::Result<()> {
    calls.title("Scripts store objects, and find them by their fields (examples/objects.rhai)")?;
    let books = json!([
        { "id": "emma", "title": "Emma", "author": "Austen", "year": 1815 },
        { "id": "waves", "title": "The Waves", "author": "Woolf", "year": 1931 },
        { "id": "orlando", "title": "Orlando", "author": "Woolf", "year": 1928 },
    ]);
    let result = calls.call("run_and_wait", json!({ "script": OBJECTS, "args": { "books": books, "author": "Woolf" } })).await?;
    expect("the value", &result["value"], &json!(["1928 Orlando", "1931 The Waves"]))?;
    let page = calls.call("find_objects", json!({ "collection": "books", "filter": { "title": { "prefix": "E" } } })).await?;
    expect("the object", &page["objects"][0]["id"], &json!("emma"))?;
    expect("what no index was used for", &page["compared"], &json!(["title"]))
}

async fn files(calls: &Calls) -> anyhow::Result<()> {
    calls.title("Scripts of type sal have files of their context, and what else they are granted (examples/files.rhai)")?;
    let result = calls.call("run_and_wait", json!({ "script_type": "sal", "script": FILES })).await?;
    expect("the files", &result["value"], &json!(["stock/apples.txt: 9 bytes", "stock/pears.txt: 13 bytes"]))?;
    let command = json!({ "script_type": "sal", "script": "run_command(\"ls\")" });
    let error = calls.refused("run_and_wait", command, code::JOB_FAILED).await?;
    let failure = error.job_failure().context("the error has no data about the job")?;
    expect("the refusal", &json!(failure.error.message), &json!("run_command is for pools and contexts with the grant process"))
}

async fn relatives(calls: &Calls) -> anyhow::Result<()> {
    calls.title("A job creates others, and says how far it is (examples/children.rhai)")?;
    let result = calls.call("run_and_wait", json!({ "script": CHILDREN, "name": "parent" })).await?;
    let continuation = result["value"].as_str().context("the script gave no id")?;
    let ended = calls.call("wait_job", json!({ "job_id": continuation })).await?;
    expect("the value", &ended["value"], &json!(14))?;
    let job: serde_json::Value = calls.client.call_named("get_job", json!({ "job_id": result["job_id"] })).await?;
    calls.show_item("progress", &job["progress"])?;
    expect("the progress", &job["progress"], &json!({ "value": 3.0, "text": "part 3 of 3" }))
}

async fn look(calls: &Calls) -> anyhow::Result<()> {
    calls.title("Everything can be looked at")?;
    let actors = calls.call("list_actors", json!({})).await?;
    let of_osis = actors.as_array().into_iter().flatten().filter(|actor| actor["script_type"] == "osis");
    expect("the number of actors of osis", &of_osis.count(), &2)?;
    calls.call("list_queues", json!({})).await?;
    let page = calls.call("list_jobs", json!({ "filter": { "name": "progress" } })).await?;
    let found = page["jobs"][0]["job_id"].as_str().and_then(|id| id.parse::<JobId>().ok());
    let job_id = found.context("the job called progress is not listed")?;
    let status = calls.call("get_status", json!({ "job_id": job_id })).await?;
    expect("the status", &status, &json!(Status::Finished))
}
