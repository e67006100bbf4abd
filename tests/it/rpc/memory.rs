//! What is answered while Redis is nearly full, or full.

use serde_json::{Value, json};

use super::{Client, open};
use crate::support::{CallError, Redis, until};

/// Calls that make something, each with a key of its own if it takes one.
fn keyed() -> Vec<(&'static str, Value)> {
    let of = |key: &str| json!({"script": "40 + 2", "idempotency_key": key});
    vec![
        ("create_job", of("one")),
        ("create_jobs", json!({"jobs": [of("two"), of("three")]})),
        ("run_and_wait", of("four")),
        ("create_flow", json!({"jobs": {"a": {"script": "1"}}, "idempotency_key": "five"})),
        ("create_schedule", json!({"job": {"script": "1"}, "every": 3600, "idempotency_key": "six"})),
    ]
}

/// The same without keys, and calls that take none.
fn new() -> Vec<(&'static str, Value)> {
    let mut calls: Vec<(&str, Value)> = keyed();
    for (_, params) in &mut calls {
        params.as_object_mut().unwrap().remove("idempotency_key");
        for job in params.get_mut("jobs").and_then(Value::as_array_mut).into_iter().flatten() {
            job.as_object_mut().unwrap().remove("idempotency_key");
        }
    }
    calls.push(("create_identity", json!({})));
    calls
}

/// Has Redis use this share of the memory that it may, in percent.
async fn fill(redis: &Redis, percent: u64) {
    let used = redis.memory("used_memory").await;
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", &(used * 100 / percent).to_string()]).await;
}

/// What an answer says was created.
fn id(answer: &Value) -> &Value {
    answer.get("schedule_id").unwrap_or(answer)
}

fn is_full(fault: &CallError) -> bool {
    fault.code == 1007 && fault.message.contains("memory") && fault.data["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0)
}

/// Waits until new jobs are refused.
async fn is_seen(client: &Client) {
    until("memory is short", || async { client.call("create_job", json!(["1"])).await.err() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_created_with_a_key_is_answered_the_same_while_nothing_new_is_taken() {
    let (house, _server, client) = open(1).await;
    // So that what the server itself needs is a small part.
    let _: u64 = house.redis.run(&["SETRANGE", "ballast", "40000000", "x"]).await;
    let mut before = Vec::new();
    for (method, params) in keyed() {
        before.push(client.ok(method, params).await);
    }
    fill(&house.redis, 94).await;
    is_seen(&client).await;
    for percent in [94, 150] {
        fill(&house.redis, percent).await;
        for ((method, params), before) in keyed().into_iter().zip(&before) {
            let again = client.ok(method, params).await;
            assert_eq!(id(&again), id(before), "{method} at {percent}%");
        }
        for (method, params) in new() {
            let fault = client.fault(method, params).await;
            assert!(is_full(&fault), "{method} at {percent}%: {fault:?}");
        }
    }
    house.close().await;
}
