//! Local runners: pools that come and go with their objects.

use serde_json::{Value, json};

use crate::support::{Process, Redis, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_local_runner_gets_a_pool_that_comes_and_goes_with_it() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1"]).await;
    let client = server.client().await;
    let call = async |method: &str, params: Value| client.call::<Value>(method, params).await.unwrap();
    let made = call("create_runner", json!({"script_type": "sal", "local": true})).await;
    let group = format!("runner{}", made["runner_id"]);
    // By its group, and from the queue of its layout.
    let result = call("run_and_wait", json!({"script": "40 + 2", "script_type": "sal", "group": group, "wait_timeout": 50})).await;
    assert_eq!(result["value"], 42);
    let actors = call("list_actors", json!({})).await;
    assert!(actors.as_array().unwrap().iter().any(|actor| actor["group"] == group.as_str()), "{actors}");
    // A flow may name it.
    let flow = json!({"jobs": {"a": {"script": "7", "runner": made["runner_id"]}}, "wait_timeout": 50});
    assert_eq!(call("run_flow_and_wait", flow).await["result"], json!({"a": "7"}));
    call("delete_runner", json!([made["runner_id"]])).await;
    until("its actor has gone", || async {
        let actors = call("list_actors", json!({})).await;
        actors.as_array().unwrap().iter().all(|actor| actor["group"] != group.as_str()).then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_of_a_context_that_was_made_at_run_time_gets_a_pool_too_and_one_of_a_type_that_is_not_here_gets_none() {
    let (redis, home) = (Redis::start().await, tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "sal=1"]).await;
    let client = server.client().await;
    let call = async |method: &str, params: Value| client.call::<Value>(method, params).await.unwrap();
    let context = call("create_context", json!({"name": "a"})).await["context_id"].clone();
    let made = call("create_runner", json!({"script_type": "sal", "local": true, "context_id": context})).await;
    let other = call("create_runner", json!({"script_type": "osis", "local": true, "context_id": context})).await;
    let group = format!("runner{}", made["runner_id"]);
    let spec = json!({"script": "40 + 2", "script_type": "sal", "group": group, "context_id": context, "wait_timeout": 50});
    assert_eq!(call("run_and_wait", spec).await["value"], 42);
    until("the log says what is missing", || async { server.log().contains("no pool for the script type of a runner").then_some(()) })
        .await;
    assert_eq!(call("get_runner", json!({"runner_id": other["runner_id"], "context_id": context})).await["script_type"], "osis");
    server.stop().await;
}
