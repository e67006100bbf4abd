//! A flow whose jobs run on two servers, each with its own Redis, while the connection between them breaks and either
//! is killed.

use std::collections::HashMap;

use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::{Value, json};

use super::kills::Node;
use super::*;
use crate::support::{PATIENCE, seed};

/// Each layer waits for all jobs of the one before; half of each run elsewhere.
const LAYERS: usize = 6;
const WIDTH: usize = 4;

#[tokio::test(flavor = "multi_thread")]
async fn each_job_of_a_flow_over_two_servers_has_one_result_whatever_is_cut_or_killed() {
    let rounds: u64 = std::env::var("HERO_E2E_ROUNDS").map_or(1, |rounds| rounds.parse().expect("HERO_E2E_ROUNDS is a number"));
    let first = seed();
    for seed in first..first.saturating_add(rounds) {
        println!("HERO_SEED={seed}");
        survive(StdRng::seed_from_u64(seed)).await;
    }
}

async fn survive(mut random: StdRng) {
    let mut a = Node::start("osis=2", &[]).await;
    let mut b = Node::start("osis=2", &["--nodes".to_owned(), format!("a={}", a.key().await)]).await;
    let runner = json!({"script_type": "osis", "local": false, "address": b.redis.url(), "pubkey": b.key().await});
    let made: Value = a.client().await.call_named("create_runner", runner).await.unwrap();
    let jobs: serde_json::Map<String, Value> = (0..LAYERS * WIDTH)
        .map(|at| {
            let (layer, place) = (at / WIDTH, at % WIDTH);
            let before: Vec<String> =
                if layer == 0 { Vec::new() } else { (0..WIDTH).map(|other| format!("j{}_{other}", layer - 1)).collect() };
            let sum: Vec<String> = before.iter().map(|name| format!("inputs.{name}")).collect();
            let script = if layer == 0 { "env.ONE.parse_int()".to_owned() } else { format!("({}) / {WIDTH} + 1", sum.join(" + ")) };
            let mut job = json!({"script": script, "depends_on": before});
            if place % 2 == 1 {
                job["runner"] = made["runner_id"].clone();
            }
            (format!("j{layer}_{place}"), job)
        })
        .collect();
    let client = a.client().await;
    let flow: Value = client.call_named("create_flow", json!({"jobs": jobs, "env_vars": {"ONE": "1"}})).await.unwrap();
    let _: Value = client.call_named("start_flow", json!({"flow_id": flow})).await.unwrap();
    for round in 0..3 {
        let done = (round + 1) * LAYERS * WIDTH / 5;
        until("more jobs have ended", || async {
            let open: Option<String> = a.redis.run(&["HGET", "flow:1", "open"]).await;
            (open?.parse::<usize>().ok()? <= LAYERS * WIDTH - done).then_some(())
        })
        .await;
        match random.random_range(0..3) {
            0 => a.restart().await,
            1 => b.restart().await,
            // The way to the other side is cut, and healed.
            _ => {
                b.redis.halt(true);
                tokio::time::sleep(Duration::from_millis(random.random_range(100..1500))).await;
                b.redis.halt(false);
            }
        }
    }
    let ended = a.client().await.wait_flow(CONTEXT, hero::model::FlowId(1), Some(PATIENCE)).await.unwrap();
    let flow = serde_json::to_value(&ended).unwrap();
    assert_eq!(flow["result"][format!("j{}_0", LAYERS - 1)], json!(LAYERS.to_string()));
    // Each has one end here, and came there once.
    let events: Vec<(String, HashMap<String, String>)> = a.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let mut ends: HashMap<String, usize> = HashMap::new();
    for (_, event) in events.into_iter().filter(|(_, event)| event["status"] == "finished") {
        *ends.entry(event["job"].clone()).or_default() += 1;
    }
    assert_eq!((ends.len(), ends.values().max()), (LAYERS * WIDTH, Some(&1)));
    let came: Vec<String> = b.redis.run(&["KEYS", "job:*"]).await;
    assert_eq!(came.len(), LAYERS * WIDTH / 2);
}
