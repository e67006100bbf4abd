//! Calls that are repeated with their idempotency key, once a new one would be refused.

use hero::model::Timestamp;
use serde_json::{Value, json};

use super::{Client, open};
use crate::support::until;

/// Makes the call without its key until it is refused for this reason. With its key it then answers with what it has created.
async fn is_answered_while_others_are_refused(client: &Client, method: &str, params: Value, created: &Value, what: &str) {
    let mut new = params.clone();
    new.as_object_mut().unwrap().remove("idempotency_key");
    for job in new.get_mut("jobs").and_then(Value::as_array_mut).into_iter().flatten() {
        job.as_object_mut().unwrap().remove("idempotency_key");
    }
    let refusal = until("a refusal", || async { client.call(method, new.clone()).await.err() }).await;
    assert!(refusal.message.contains(what), "{method}: {refusal:?}");
    let again = client.ok(method, params).await;
    let id = |answer: &Value| answer.get("schedule_id").unwrap_or(answer).clone();
    assert_eq!(id(&again), id(created), "{method}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_is_answered_though_the_last_actor_of_the_type_is_gone() {
    const PRESENCE: &str = "hero:meta:actor:inst:v:default:1";
    let (house, _server, client) = open(1).await;
    let job = json!({"script": "1", "script_type": "v", "idempotency_key": "one"});
    let two = json!({"script": "1", "script_type": "v", "idempotency_key": "two"});
    let calls = [
        ("create_job", job.clone()),
        ("create_jobs", json!({"jobs": [two]})),
        ("create_flow", json!({"jobs": {"a": {"script": "1", "script_type": "v"}}, "idempotency_key": "three"})),
        ("create_schedule", json!({"job": {"script": "1", "script_type": "v"}, "every": 3600, "idempotency_key": "four"})),
    ];
    for (method, params) in calls {
        let _: () = house.redis.run(&["SET", PRESENCE, "{}", "EX", "600"]).await;
        until("the actor is seen", || async { client.call("create_job", json!({"script": "1", "script_type": "v"})).await.ok() }).await;
        let created = client.ok(method, params.clone()).await;
        let _: u64 = house.redis.run(&["DEL", PRESENCE]).await;
        is_answered_while_others_are_refused(&client, method, params, &created, "v").await;
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_flow_is_answered_though_its_runner_was_deleted() {
    let (house, _server, client) = open(1).await;
    let runner = client.ok("create_runner", json!({"script_type": "osis", "local": true})).await["runner_id"].clone();
    let flow = json!({"jobs": {"a": {"script": "1", "runner": runner}}, "idempotency_key": "one"});
    let created = client.ok("create_flow", flow.clone()).await;
    client.ok("delete_runner", json!([runner])).await;
    is_answered_while_others_are_refused(&client, "create_flow", flow, &created, "does not exist").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_schedule_is_answered_though_its_end_has_come() {
    let (house, _server, client) = open(1).await;
    let job = client.ok("create_job", json!(["1"])).await;
    let now: Timestamp = client.ok("get_job", json!([job])).await["created_at"].as_str().unwrap().parse().unwrap();
    let end = Timestamp::from_millis(now.as_millis() + 3000).to_string();
    let schedule = json!({"job": {"script": "1"}, "every": 1, "end_at": end, "idempotency_key": "one"});
    let created = client.ok("create_schedule", schedule.clone()).await;
    is_answered_while_others_are_refused(&client, "create_schedule", schedule, &created, "end_at").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_call_is_refused_where_its_context_is_being_deleted() {
    let (house, _server, client) = open(1).await;
    let job = |key: &str| json!({"script": "1", "idempotency_key": key});
    let calls = [
        ("create_job", job("one")),
        ("create_jobs", json!({"jobs": [job("two")]})),
        ("create_flow", json!({"jobs": {"a": {"script": "1"}}, "idempotency_key": "three"})),
        ("create_schedule", json!({"job": {"script": "1"}, "every": 3600, "idempotency_key": "four"})),
    ];
    for (method, params) in &calls {
        client.ok(method, params.clone()).await;
    }
    let _: () = house.redis.run(&["SET", "hero:meta:closed", "1"]).await;
    for (method, params) in calls {
        let refusal = client.fault(method, params).await;
        assert_eq!(refusal.code, 1011, "{method}: {refusal:?}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_entry_is_named_whose_key_was_used_for_another_job() {
    let (house, _server, client) = open(1).await;
    let job = |script: &str, key: &str| json!({"script": script, "idempotency_key": key});
    client.ok("create_jobs", json!({"jobs": [job("1", "one"), job("2", "two")]})).await;
    let refusal = client.fault("create_jobs", json!({"jobs": [job("1", "one"), job("3", "two")]})).await;
    assert!(refusal.code == 1010 && refusal.message.starts_with("jobs[1]"), "{refusal:?}");
    assert_eq!(refusal.data["index"], 1);
    house.close().await;
}
