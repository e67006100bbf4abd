//! Servers and engines die while a flow runs.

use std::collections::HashMap;

use hero::model::FlowId;
use rand::Rng as _;

use super::*;
use crate::support::{CONTEXT, PATIENCE, Process, Redis};

/// Each layer waits for all jobs of the one before.
const LAYERS: usize = 20;
const WIDTH: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn each_job_of_a_flow_ends_once_and_in_order_whatever_is_killed() {
    let (redis, homes) = (Redis::start().await, [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()]);
    let start = async |at: usize| Process::serve(homes[at].path(), &["--redis", &redis.url(), "--pool", "osis=2"]).await;
    let mut servers = [start(0).await, start(1).await];
    let jobs: serde_json::Map<String, Value> = (0..LAYERS * WIDTH)
        .map(|at| {
            let (layer, place) = (at / WIDTH, at % WIDTH);
            let before: Vec<String> =
                if layer == 0 { Vec::new() } else { (0..WIDTH).map(|other| format!("j{}_{other}", layer - 1)).collect() };
            let sum: Vec<String> = before.iter().map(|name| format!("inputs.{name}")).collect();
            let script = if layer == 0 { "1".to_owned() } else { format!("({}) / {WIDTH} + 1", sum.join(" + ")) };
            (format!("j{layer}_{place}"), json!({"script": script, "depends_on": before}))
        })
        .collect();
    let mut random = crate::support::random();
    let flow: Value = servers[0].client().await.call_named("create_flow", json!({"jobs": jobs})).await.unwrap();
    // Killed while it starts the jobs, or just after; whoever lives goes on.
    let starter = servers[0].client().await;
    let starting = tokio::spawn(async move { starter.call_named::<Value>("start_flow", json!({"flow_id": flow})).await.map(drop) });
    for _ in 0..random.random_range(0..400) {
        tokio::task::yield_now().await;
    }
    servers[0].kill().await;
    starting.abort();
    // It may have died before it heard of the call.
    let _ = servers[1].client().await.call_named::<Value>("start_flow", json!({"flow_id": 1})).await;
    servers[0] = start(0).await;
    for round in 0..4 {
        let done = (round + 1) * LAYERS * WIDTH / 6;
        until("more jobs have ended", || async {
            let open: Option<String> = redis.run(&["HGET", "flow:1", "open"]).await;
            (open?.parse::<usize>().ok()? <= LAYERS * WIDTH - done).then_some(())
        })
        .await;
        let at = random.random_range(0..2);
        if round % 2 == 0 {
            servers[at].kill().await;
            servers[at] = start(at).await;
        } else if let Some(engine) = servers[at].engines().first() {
            engine.kill();
        }
    }
    let client = servers[1].client().await;
    let flow = client.wait_flow(CONTEXT, FlowId(1), Some(PATIENCE)).await.unwrap();
    let flow = serde_json::to_value(&flow).unwrap();
    assert_eq!(flow["status"], "finished");
    assert_eq!(flow["result"][format!("j{}_0", LAYERS - 1)], json!(LAYERS.to_string()));
    let jobs: HashMap<&str, &Value> = flow["jobs"].as_array().unwrap().iter().map(|job| (job["name"].as_str().unwrap(), job)).collect();
    for (name, job) in &jobs {
        for other in job["depends_on"].as_array().into_iter().flatten() {
            let before = jobs[other.as_str().unwrap()];
            assert!(before["finished_at"].as_str() <= job["started_at"].as_str(), "{name} began before {other} ended");
        }
    }
    // Each has one end.
    let events: Vec<(String, HashMap<String, String>)> = redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let mut ends: HashMap<String, usize> = HashMap::new();
    for (_, event) in events.into_iter().filter(|(_, event)| event["status"] == "finished") {
        *ends.entry(event["job"].clone()).or_default() += 1;
    }
    assert_eq!((ends.len(), ends.values().max()), (LAYERS * WIDTH, Some(&1)));
    for server in servers {
        server.stop().await;
    }
}
