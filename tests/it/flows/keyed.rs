//! A client repeats a call that creates a flow, because its answer was lost.

use super::*;
use crate::support::{Process, Redis};

/// A flow of many jobs, made by this key.
fn keyed(key: &str) -> Value {
    let jobs: serde_json::Map<String, Value> = (0..300).map(|at| (format!("j{at}"), json!({"script": at.to_string()}))).collect();
    json!({"jobs": jobs, "idempotency_key": key})
}

async fn flows(redis: &Redis) -> usize {
    redis.run(&["ZCARD", "hero:meta:flows"]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_gives_the_same_flow_and_refuses_another() {
    let (house, _server, client) = open(1).await;
    let spec = |script: &str| json!({"jobs": {"a": {"script": script}}, "idempotency_key": "k"});
    let flow = client.ok("create_flow", spec("40 + 2")).await;
    assert_eq!(client.ok("create_flow", spec("40 + 2")).await, flow);
    // It is started by whoever wants it run, and once.
    let ran = client.ok("run_flow_and_wait", spec("40 + 2")).await;
    assert_eq!((&ran["flow_id"], &ran["result"]["a"]), (&flow, &json!("42")));
    let again = client.ok("run_flow_and_wait", spec("40 + 2")).await;
    assert_eq!((&again["flow_id"], &again["jobs"][0]["started_at"]), (&flow, &ran["jobs"][0]["started_at"]));
    let fault = client.fault("create_flow", spec("41 + 2")).await;
    assert!(fault.code == 1010 && fault.message.contains("for flow 1; use another key"), "{fault:?}");
    assert_eq!(fault.data["flow_id"], flow);
    let fault = client.fault("create_flow", json!({"jobs": {"a": {"script": "1"}}, "idempotency_key": ""})).await;
    assert!(fault.code == -32602 && fault.message.contains("idempotency_key: is empty"), "{fault:?}");
    // Another caller has keys of its own, and so have jobs.
    let mut other = spec("40 + 2");
    other["caller_id"] = json!("other");
    assert_ne!(client.ok("create_flow", other).await, flow);
    client.ok("create_job", json!({"script": "1", "idempotency_key": "k", "caller_id": "anonymous"})).await;
    // As long as the key stands for it, it is kept.
    let kept = client.ok("run_flow_and_wait", json!({"jobs": {"a": {"script": "1"}}, "idempotency_key": "l", "retention": 5})).await;
    assert!(ttl(&house, &format!("flow:{}", kept["flow_id"])).await > 80_000);
    client.ok("delete_flow", json!([flow])).await;
    assert_ne!(client.ok("create_flow", spec("40 + 2")).await, flow, "the key of a flow that was deleted is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_connections_at_once_make_one_flow_with_one_key() {
    let (house, server, _client) = open(0).await;
    let calls = (0..8).map(async |_| server.connect().await.ok("create_flow", keyed("k")).await);
    let made: Vec<Value> = futures_util::future::join_all(calls).await;
    assert!(made.iter().all(|flow| *flow == made[0]), "{made:?}");
    assert_eq!(flows(&house.redis).await, 1);
    let jobs: Vec<String> = house.redis.run(&["KEYS", "hero:job:*"]).await;
    assert_eq!(jobs.len(), 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_a_killed_server_made_is_found_by_its_key() {
    let (redis, homes) = (Redis::start().await, [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()]);
    let start = async |at: usize| Process::serve(homes[at].path(), &["--redis", &redis.url(), "--pool", "osis=1"]).await;
    let (mut one, other) = (start(0).await, start(1).await);
    let client = one.client().await;
    let call = tokio::spawn(async move { client.call_named::<Value>("create_flow", keyed("k")).await.map(drop) });
    until("the flow is being made, or is made", || async { (flows(&redis).await > 0).then_some(()) }).await;
    one.kill().await;
    let _ = call.await;
    // Where the server was killed before all jobs were there, this is the time after which what it made goes.
    let _: i64 = redis.run(&["ZADD", "hero:q:flows", "XX", "1", "1"]).await;
    let client = other.client().await;
    let flow = until("the flow is made", || async { client.call_named::<Value>("create_flow", keyed("k")).await.ok() }).await;
    let again: Value = client.call_named("create_flow", keyed("k")).await.unwrap();
    assert_eq!((again, flows(&redis).await), (flow, 1));
    until("nothing is left of what was made by half", || async {
        let jobs: Vec<String> = redis.run(&["KEYS", "hero:job:*"]).await;
        (jobs.len() == 300).then_some(())
    })
    .await;
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_another_call_makes_the_flow_of_a_key_who_repeats_it_is_told_to_come_back() {
    let (house, _server, client) = open(0).await;
    let flow = client.ok("create_flow", keyed("k")).await;
    let _: i64 = house.redis.run(&["HSET", "flow:1", "busy", "storing"]).await;
    let _: i64 = house.redis.run(&["ZADD", "hero:q:flows", "9999999999999", "1"]).await;
    let fault = client.fault("create_flow", keyed("k")).await;
    assert!(fault.code == 1006 && fault.message.contains("still being made by another call"), "{fault:?}");
    assert_eq!(fault.data["retry_after_ms"], 1000);
    // Its maker has had its time.
    let _: i64 = house.redis.run(&["ZADD", "hero:q:flows", "1", "1"]).await;
    assert_ne!(until("it is made anew", || async { client.call("create_flow", keyed("k")).await.ok() }).await, flow);
}
