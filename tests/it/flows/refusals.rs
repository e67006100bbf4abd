use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn invalid_flows_are_refused_with_the_remedy() {
    let (house, _server, client) = open(0).await;
    let one = |job: Value| json!({"jobs": {"a": job}});
    for (method, params, number, told) in [
        ("create_flow", json!({}), -32602, "jobs"),
        ("create_flow", json!({"jobs": {}}), -32602, "at least one job"),
        ("create_flow", one(json!({"script": "1", "depends_on": ["b"]})), -32602, "no job \"b\""),
        ("create_flow", one(json!({"script": "1", "depends_on": ["a"]})), -32602, "waits for itself"),
        (
            "create_flow",
            json!({"jobs": {"a": {"script": "1", "depends_on": ["c"]}, "b": {"script": "1", "depends_on": ["a"]}, "c": {"script": "1", "depends_on": ["b"]}}}),
            -32602,
            "a → c → b → a",
        ),
        ("create_flow", json!({"jobs": {"a-b": {"script": "1"}}}), -32602, "letters, digits and '_'"),
        ("create_flow", one(json!({"script": "1", "script_type": "cobol"})), 1003, "jobs.a: script type cobol"),
        ("create_flow", one(json!({"script": "x".repeat(70_000)})), 1008, "jobs.a: script has 70000 bytes"),
        ("create_flow", one(json!({"script": "1", "timeout": 0})), -32602, "jobs.a: timeout"),
        ("create_flow", one(json!({"script": "1", "runner": 9})), 1011, "runner 9 does not exist"),
        ("create_flow", one(json!({"script": "1", "depend_on": []})), -32602, "depend_on"),
        ("create_flow", json!({"jobs": {"a": {"script": "1"}}, "retention": 0}), -32602, "retention"),
        (
            "create_flow",
            json!({"jobs": {"a": {"script": "1"}}, "prerequisites": ["6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70"]}),
            -32602,
            "does not exist",
        ),
        ("create_flow", json!({"jobs": {"a": {"script": "1"}}, "context_id": 7}), 1011, "context 7"),
        ("start_flow", json!([9]), 1011, "flow 9 does not exist"),
        ("stop_flow", json!([9]), 1011, "list_flows"),
        ("retry_flow", json!([9]), 1011, "flow 9"),
        ("get_flow", json!([9]), 1011, "flow 9"),
        ("wait_flow", json!([9]), 1011, "flow 9"),
        ("delete_flow", json!([9]), 1011, "flow 9"),
    ] {
        let fault = client.fault(method, params.clone()).await;
        assert!(fault.code == number && fault.message.contains(told), "{method} {params}: {fault:?}");
    }
    // Nothing of them is left.
    let left: Vec<String> = house.redis.run(&["KEYS", "flow:*"]).await;
    let jobs: Vec<String> = house.redis.run(&["KEYS", "*job:*"]).await;
    assert!(left.is_empty() && jobs.is_empty(), "{left:?} {jobs:?}");
    let many: serde_json::Map<String, Value> = (0..1001).map(|at| (format!("j{at}"), json!({"script": "1"}))).collect();
    let fault = client.fault("create_flow", json!({"jobs": many})).await;
    assert!(fault.message.contains("may have 1000 jobs"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_stands_twice_is_refused() {
    let (_house, server, _client) = open(0).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"create_flow","params":{"jobs":{"a":{"script":"1"},"a":{"script":"2"}}}}"#;
    let (_, answer) = server.post(body).await;
    assert!(answer.contains("-32602") && answer.contains(r#"parameter `jobs`: the name \"a\" stands there twice"#), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_is_refused_by_redis_half_way_leaves_nothing() {
    let (house, _server, client) = open(0).await;
    // Each of the first calls has its room, the last has not.
    let _: () = house.redis.run(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]).await;
    let jobs: serde_json::Map<String, Value> =
        (0..600).map(|at| (format!("j{at:03}"), json!({"script": format!("// {}\n1", "x".repeat(3000))}))).collect();
    let used = house.redis.memory("used_memory").await;
    let _: () = house.redis.run(&["CONFIG", "SET", "maxmemory", &(used + 3_500_000).to_string()]).await;
    let fault = client.fault("create_flow", json!({"jobs": jobs})).await;
    assert_eq!(fault.code, 1007, "{fault:?}");
    let _: () = house.redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    until("nothing is left", || async {
        let left: Vec<String> = house.redis.run(&["KEYS", "*job:*"]).await;
        let flows: Vec<String> = house.redis.run(&["KEYS", "flow:*"]).await;
        (left.is_empty() && flows.is_empty()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_flow_is_not_deleted() {
    let (_house, _server, client) = open(1).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "loop { }"}}})).await;
    client.ok("start_flow", json!([flow])).await;
    let fault = client.fault("delete_flow", json!([flow])).await;
    assert!(fault.code == 1002 && fault.message.contains("stop it first"), "{fault:?}");
    client.ok("stop_flow", json!([flow])).await;
    ended(&client, &flow).await;
    assert_eq!(client.ok("delete_flow", json!([flow])).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_made_of_the_keys_of_flows_harms_nobody() {
    let (house, _server, client) = open(1).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    for (field, value) in
        [("jobs", "nonsense"), ("caller_id", "../x"), ("open", "many"), ("env_vars", "["), ("result", "1"), ("busy", "dancing")]
    {
        let kept: String = house.redis.run(&["HGET", "flow:1", field]).await;
        let _: i64 = house.redis.run(&["HSET", "flow:1", field, value]).await;
        // It may be shown or refused, and nothing breaks.
        for method in ["get_flow", "start_flow", "retry_flow"] {
            if let Err(fault) = client.call(method, json!([flow])).await {
                assert!([1002, 1011].contains(&fault.code), "{method} with {field}: {fault:?}");
            }
        }
        let _: i64 = house.redis.run(&["HSET", "flow:1", field, &kept]).await;
    }
    let _: i64 = house.redis.run(&["DEL", "flow:1"]).await;
    let _: i64 = house.redis.run(&["LPUSH", "flow:1", "x"]).await;
    let fault = client.fault("get_flow", json!([flow])).await;
    assert_eq!((fault.code, &fault.data["key"]), (1009, &json!("flow:1")), "{fault:?}");
    assert_eq!(client.ok("run_flow_and_wait", json!({"jobs": {"a": {"script": "1"}}})).await["status"], "finished");
}
