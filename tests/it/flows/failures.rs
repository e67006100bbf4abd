use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_first_job_that_fails_stops_the_others() {
    let (_house, _server, client) = open(2).await;
    let spec = json!({"jobs": {
        "bad": {"script": "throw \"no\""},
        "long": {"script": "loop { }"},
        "after": {"script": "1", "depends_on": ["bad"]},
    }});
    let fault = client.fault("run_flow_and_wait", spec).await;
    assert_eq!(fault.code, 1101);
    assert!(fault.message.contains("\"bad\": no"), "{fault:?}");
    assert_eq!((&fault.data["failed"][0]["job"], fault.data["failed"].as_array().unwrap().len()), (&json!("bad"), 1));
    let flow = client.ok("get_flow", json!([fault.data["flow_id"]])).await;
    assert_eq!(job(&flow, "long")["error"]["kind"], "stopped");
    assert_eq!(job(&flow, "after")["error"]["kind"], "prerequisite");
}

#[tokio::test(flavor = "multi_thread")]
async fn independent_branches_go_on_where_that_is_wanted() {
    let (_house, _server, client) = open(2).await;
    let spec = json!({"on_failure": "continue", "jobs": {
        "bad": {"script": "throw \"no\""},
        "after_bad": {"script": "1", "depends_on": ["bad"]},
        "good": {"script": "1"},
        "after_good": {"script": "inputs.good + 1", "depends_on": ["good"]},
    }});
    let fault = client.fault("run_flow_and_wait", spec).await;
    let flow = client.ok("get_flow", json!([fault.data["flow_id"]])).await;
    assert_eq!(flow["status"], "error");
    assert_eq!(flow["result"], json!({"good": "1", "after_good": "2"}));
    assert_eq!(job(&flow, "after_bad")["error"]["kind"], "prerequisite");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_runs_what_failed_and_what_never_ran_and_nothing_else() {
    let (_house, _server, client) = open(2).await;
    let flaky = "if osis::exists(\"seen\", \"x\") { 40 } else { osis::set(\"seen\", #{id: \"x\"}); throw \"once\" }";
    let spec = json!({"jobs": {
        "first": {"script": "2"},
        "flaky": {"script": flaky, "depends_on": ["first"]},
        "last": {"script": "inputs.flaky + inputs.first", "depends_on": ["flaky", "first"]},
    }});
    let fault = client.fault("run_flow_and_wait", spec).await;
    let flow = &fault.data["flow_id"];
    assert!(fault.message.contains("once"), "{fault:?}");
    client.ok("retry_flow", json!([flow])).await;
    let after = client.ok("wait_flow", json!([flow])).await;
    assert_eq!((&after["status"], &after["result"]["last"]), (&json!("finished"), &json!("42")));
    let attempts: Vec<&Value> = ["first", "flaky", "last"].iter().map(|name| &job(&after, name)["attempt"]).collect();
    assert_eq!(attempts, [&json!(1), &json!(2), &json!(1)]);
    let fault = client.fault("retry_flow", json!([flow])).await;
    assert!(fault.code == 1002 && fault.message.contains("has finished"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_retried_by_itself_takes_its_flow_along() {
    let (_house, _server, client) = open(1).await;
    let flaky = "if osis::exists(\"seen\", \"x\") { 1 } else { osis::set(\"seen\", #{id: \"x\"}); throw \"once\" }";
    let fault = client.fault("run_flow_and_wait", json!({"jobs": {"a": {"script": flaky}}})).await;
    client.ok("retry_job", json!([fault.data["failed"][0]["job_id"]])).await;
    let flow = client.ok("wait_flow", json!([fault.data["flow_id"]])).await;
    assert_eq!((&flow["status"], &flow["result"]), (&json!("finished"), &json!({"a": "1"})));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_is_stopped_ends_with_all_its_jobs() {
    let (_house, _server, client) = open(1).await;
    let spec = json!({"jobs": {"long": {"script": "loop { }"}, "next": {"script": "1", "depends_on": ["long"]}, "other": {"script": "1"}}});
    let flow = client.ok("create_flow", spec).await;
    client.ok("start_flow", json!([flow])).await;
    until("the first job runs", || async { (client.ok("get_flow", json!([flow])).await["status"] == "started").then_some(()) }).await;
    client.ok("stop_flow", json!([flow])).await;
    let fault = client.fault("wait_flow", json!([flow])).await;
    assert_eq!((fault.code, fault.message.contains("was stopped")), (1103, true), "{fault:?}");
    let stopped = client.ok("get_flow", json!([flow])).await;
    assert!(stopped["jobs"].as_array().unwrap().iter().all(|job| ["finished", "error"].contains(&job["status"].as_str().unwrap())));
    assert_eq!(client.fault("stop_flow", json!([flow])).await.code, 1002);
    // One that nobody has started, too.
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    client.ok("stop_flow", json!([flow])).await;
    assert_eq!(client.fault("wait_flow", json!([flow])).await.code, 1103);
}

#[tokio::test]
async fn each_job_of_a_flow_that_is_stopped_is_counted_once() {
    let (house, _server, client) = open(0).await;
    let jobs: serde_json::Map<String, Value> = (0..10).map(|n| (format!("j{n}"), json!({"script": "1"}))).collect();
    let flow = client.ok("create_flow", json!({ "jobs": jobs })).await;
    client.ok("stop_flow", json!([flow])).await;
    client.fault("wait_flow", json!([flow])).await;
    let counted: u32 = house.redis.run(&["HGET", "hero:meta:queue:stats:osis", "error"]).await;
    assert_eq!(counted, 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_was_stopped_is_like_any_other_when_its_jobs_are_retried() {
    let (_house, _server, client) = open(2).await;
    let late = "if osis::exists(\"seen\", \"x\") { throw \"again\" } else { osis::set(\"seen\", #{id: \"x\"}); loop { } }";
    let flow = client.ok("create_flow", json!({"jobs": {"long": {"script": "loop { }"}, "late": {"script": late}}})).await;
    client.ok("start_flow", json!([flow])).await;
    let running = |flow: &Value| statuses(flow).iter().all(|(_, status)| *status == "started");
    let both = || async { Some(client.ok("get_flow", json!([flow])).await).filter(running) };
    until("both jobs run, and the second has noted that", || async {
        let noted = !client.ok("list_collections", json!([])).await.as_array().unwrap().is_empty();
        both().await.filter(|_| noted)
    })
    .await;
    client.ok("stop_flow", json!([flow])).await;
    let stopped = ended(&client, &flow).await;
    client.ok("retry_job", json!([job(&stopped, "long")["job_id"]])).await;
    client.ok("retry_job", json!([job(&stopped, "late")["job_id"]])).await;
    // It has failed and was not stopped; and again the failure of one stops the other, which would run for ever.
    let fault = client.fault("wait_flow", json!([flow])).await;
    assert!(fault.code == 1101 && fault.message.contains("again"), "{fault:?}");
    assert_eq!(job(&ended(&client, &flow).await, "long")["error"]["kind"], "stopped");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_ends_though_one_of_its_jobs_was_deleted() {
    let (_house, _server, client) = open(1).await;
    let spec = json!({"on_failure": "continue", "jobs": {"a": {"script": "1"}, "gone": {"script": "1"}, "after": {"script": "1", "depends_on": ["gone"]}}});
    let flow = client.ok("create_flow", spec).await;
    let made = client.ok("get_flow", json!([flow])).await;
    client.ok("delete_job", json!([job(&made, "gone")["job_id"]])).await;
    client.ok("start_flow", json!([flow])).await;
    let after = ended(&client, &flow).await;
    assert_eq!((&after["status"], &after["result"]), (&json!("error"), &json!({"a": "1"})));
    assert_eq!(client.ok("delete_flow", json!([flow])).await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_of_a_flow_whose_rounds_are_interrupted_is_finished_by_the_resumer() {
    let (house, _server, client) = open(1).await;
    let fault =
        client.fault("run_flow_and_wait", json!({"jobs": {"a": {"script": "throw 1"}, "b": {"script": "1", "depends_on": ["a"]}}})).await;
    // As it stands when the server that retries it is killed before its first round.
    let flow = fault.data["flow_id"].to_string();
    let _: i64 = house.redis.run(&["HSET", &format!("flow:{flow}"), "status", "started", "busy", "retrying", "at", "0"]).await;
    let _: i64 = house.redis.run(&["ZADD", "hero:q:flows", "1", &flow]).await;
    // What others put there is in nobody's way.
    for at in 0..20 {
        let _: i64 = house.redis.run(&["ZADD", "hero:q:flows", "0", &format!("x{at}")]).await;
    }
    let after = until("it ran again", || async {
        let after = client.ok("get_flow", json!([fault.data["flow_id"]])).await;
        (job(&after, "a")["attempt"] == 2 && after["status"] == "error").then_some(after)
    })
    .await;
    assert_eq!(job(&after, "b")["status"], "error");
}
