use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_and_its_jobs_stand_in_redis_as_the_coordinator_says() {
    let (house, _server, client) = open(0).await;
    let spec = json!({
        "jobs": {
            "build": {"script": "40 + 2", "timeout": 1.5, "retries": 2},
            "tell": {"script": "inputs.build", "depends_on": ["build"], "env_vars": {"B": "3", "A": "own"}, "script_type": "sal"},
        },
        "env_vars": {"A": "1"}, "caller_id": "12",
    });
    assert_eq!(client.ok("create_flow", spec).await, 1);
    let flow = hash(&house, "flow:1").await;
    for (field, value) in [
        ("id", "1"),
        ("caller_id", "12"),
        ("context_id", "0"),
        ("jobs", "[1,2]"),
        ("env_vars", r#"{"A":"1"}"#),
        ("result", "{}"),
        ("status", "dispatched"),
    ] {
        assert_eq!(flow[field], value, "{field}");
    }
    for field in ["created_at", "updated_at"] {
        assert!(flow[field].parse::<u32>().unwrap() > 1_700_000_000, "{field}: {}", flow[field]);
    }
    let (build, tell) = (hash(&house, "job:12:1").await, hash(&house, "job:12:2").await);
    for (field, first, second) in [
        ("id", "1", "2"),
        ("caller_id", "12", "12"),
        ("context_id", "0", "0"),
        ("script", "40 + 2", "inputs.build"),
        ("script_type", "osis", "sal"),
        // Whole seconds, and never shorter than what was asked for.
        ("timeout", "2", "60"),
        ("retries", "2", "0"),
        ("env_vars", r#"{"A":"1"}"#, r#"{"A":"own","B":"3"}"#),
        ("result", "{}", "{}"),
        ("prerequisites", "[]", r#"["job:12:1"]"#),
        ("dependends", "[2]", "[]"),
        ("status", "dispatched", "dispatched"),
    ] {
        assert_eq!((&*build[field], &*tell[field]), (first, second), "{field}");
    }
    for field in ["created_at", "updated_at"] {
        assert!(build[field].parse::<u32>().is_ok() && tell[field].parse::<u32>().is_ok(), "{field}");
    }
    client.ok("start_flow", json!([1])).await;
    assert_eq!(hash(&house, "job:12:2").await["status"], "waiting_for_prerequisites");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_jobs_of_a_flow_become_stands_in_their_hashes_and_in_its_own() {
    let (house, _server, client) = open(2).await;
    let spec = json!({"jobs": {"a": {"script": "21"}, "b": {"script": "inputs.a * 2", "depends_on": ["a"]}}, "caller_id": "3"});
    let flow = client.ok("run_flow_and_wait", spec).await;
    let stored = hash(&house, "flow:1").await;
    assert_eq!((&*stored["status"], &*stored["open"], &*stored["failed"]), ("finished", "0", "0"));
    assert_eq!(serde_json::from_str::<Value>(&stored["result"]).unwrap(), json!({"a": "21", "b": "42"}));
    assert_eq!(flow["result"], json!({"a": "21", "b": "42"}));
    let b = hash(&house, "job:3:2").await;
    assert_eq!((&*b["status"], &*b["result"]), ("finished", r#"{"output":"42"}"#));
    // The flow, its jobs and their hashes go together.
    let ids: Vec<String> =
        flow["jobs"].as_array().unwrap().iter().map(|job| format!("hero:job:{}", job["job_id"].as_str().unwrap())).collect();
    for key in [&ids[..], &["flow:1".into(), "job:3:1".into(), "job:3:2".into()]].concat() {
        let seconds = ttl(&house, &key).await;
        assert!((604_700..=604_800).contains(&seconds), "{key}: {seconds} s");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_is_deleted_leaves_nothing_behind_and_its_numbers_are_not_given_again() {
    let (house, _server, client) = open(1).await;
    let spec = json!({"jobs": {"a": {"script": "print(1); 1"}, "b": {"script": "throw 1", "depends_on": ["a"]}}});
    let fault = client.fault("run_flow_and_wait", spec.clone()).await;
    assert_eq!(fault.code, 1101);
    let jobs: Vec<String> = client.ok("get_flow", json!([1])).await["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["job_id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(client.ok("delete_flow", json!([1])).await, true);
    for id in &jobs {
        let left: i64 = house.redis.run(&["EXISTS", &format!("hero:job:{id}"), &format!("hero:log:{id}")]).await;
        assert_eq!(left, 0);
    }
    let left: i64 = house.redis.run(&["EXISTS", "flow:1", "job:0:1", "job:0:2", "hero:meta:flows", "hero:q:flows"]).await;
    assert_eq!(left, 0);
    assert_eq!(client.fault("get_flow", json!([1])).await.code, 1011);
    assert_eq!(client.ok("create_flow", spec).await, 2);
    let numbers: String = house.redis.run(&["HGET", "flow:2", "jobs"]).await;
    assert_eq!(numbers, "[3,4]");
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_other_programs_use_are_left_to_them() {
    let (house, _server, client) = open(0).await;
    let _: i64 = house.redis.run(&["HSET", "flow:1", "id", "1", "status", "started"]).await;
    let _: i64 = house.redis.run(&["HSET", "job:0:2", "id", "2", "script", "theirs"]).await;
    let spec = json!({"jobs": {"a": {"script": "1"}, "b": {"script": "2"}}});
    assert_eq!(client.ok("create_flow", spec).await, 2);
    let numbers: String = house.redis.run(&["HGET", "flow:2", "jobs"]).await;
    assert_eq!(numbers, "[1,3]");
    let theirs: String = house.redis.run(&["HGET", "job:0:2", "script"]).await;
    assert_eq!(theirs, "theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_was_made_by_half_goes_with_its_jobs() {
    let (house, _server, client) = open(0).await;
    client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let id = client.ok("get_flow", json!([1])).await["jobs"][0]["job_id"].as_str().unwrap().to_owned();
    // As it stands when the server that makes it is killed, a minute later.
    let _: i64 = house.redis.run(&["HSET", "flow:1", "busy", "storing"]).await;
    let _: i64 = house.redis.run(&["ZADD", "hero:q:flows", "1", "1"]).await;
    until("the flow is gone", || async {
        (house.redis.run::<i64>(&["EXISTS", "flow:1", "job:0:1", &format!("hero:job:{id}")]).await == 0).then_some(())
    })
    .await;
    assert_eq!(client.ok("list_flows", json!({})).await["flows"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_show_flows_newest_first_and_forget_those_whose_time_is_over() {
    let (house, _server, client) = open(0).await;
    for caller in ["1", "2", "1"] {
        client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}, "caller_id": caller})).await;
    }
    let numbers = |page: &Value| page["flows"].as_array().unwrap().iter().map(|flow| flow["flow_id"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(numbers(&client.ok("list_flows", json!({})).await), [3, 2, 1]);
    assert_eq!(numbers(&client.ok("list_flows", json!({"caller_id": "1"})).await), [3, 1]);
    let page = client.ok("list_flows", json!({"limit": 2})).await;
    assert_eq!(numbers(&client.ok("list_flows", json!({"cursor": page["next_cursor"]})).await), [1]);
    let _: i64 = house.redis.run(&["DEL", "flow:2"]).await;
    assert_eq!(numbers(&client.ok("list_flows", json!({})).await), [3, 1]);
    let listed: Vec<String> = house.redis.run(&["ZRANGE", "hero:meta:flows", "0", "-1"]).await;
    assert_eq!(listed, ["1", "3"]);
    assert_eq!(client.fault("list_flows", json!({"cursor": "x"})).await.code, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_put_into_the_list_of_flows_hides_none() {
    let (house, _server, client) = open(0).await;
    for _ in 0..3 {
        client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    }
    let _: i64 = house.redis.run(&["ZADD", "hero:meta:flows", "9", "x", "8", "y", "2.5", "z"]).await;
    let (mut seen, mut cursor) = (Vec::new(), None::<Value>);
    loop {
        let page = client.ok("list_flows", json!({"limit": 1, "cursor": cursor})).await;
        seen.extend(page["flows"].as_array().unwrap().iter().map(|flow| flow["flow_id"].as_u64().unwrap()));
        cursor = page.get("next_cursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, [3, 2, 1]);
    assert_eq!(client.fault("list_flows", json!({"cursor": "nan"})).await.code, -32602);
}

#[tokio::test(flavor = "multi_thread")]
async fn long_outputs_are_left_out_of_the_result_and_that_is_said() {
    let (_house, _server, client) = open(1).await;
    let spec = json!({"jobs": {"long": {"script": "let t = \"\"; t.pad(70000, \"x\"); t"}, "short": {"script": "1"}}});
    let flow = client.ok("run_flow_and_wait", spec).await;
    assert_eq!((&flow["result"], &flow["truncated"]), (&json!({"short": "1"}), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_goes_on_loses_none_of_its_jobs() {
    let (house, _server, client) = open(1).await;
    let flaky = "if osis::exists(\"seen\", \"x\") { loop { } } else { osis::set(\"seen\", #{id: \"x\"}); throw \"once\" }";
    let spec = json!({"caller_id": "3", "jobs": {"a": {"script": "1"}, "b": {"script": flaky, "depends_on": ["a"]}}});
    let keys = ["flow:1", "job:3:1", "job:3:2"];
    let is_kept = async |what: &str| {
        for key in keys {
            assert_eq!(ttl(&house, key).await, -1, "{what}: {key}");
        }
    };
    assert_eq!(client.ok("create_flow", spec).await, 1);
    client.ok("start_flow", json!([1])).await;
    let failed = ended(&client, &json!(1)).await;
    for key in keys {
        assert!((604_700..=604_800).contains(&ttl(&house, key).await), "{key} goes with its flow");
    }
    client.ok("retry_flow", json!([1])).await;
    is_kept("the flow was retried").await;
    let first = format!("hero:job:{}", job(&failed, "a")["job_id"].as_str().unwrap());
    assert!(ttl(&house, &first).await > 604_800, "what it gave may be needed as long as the flow goes on");
    client.ok("stop_flow", json!([1])).await;
    ended(&client, &json!(1)).await;
    assert!(ttl(&house, "job:3:1").await > 0);
    client.ok("retry_job", json!([job(&failed, "b")["job_id"]])).await;
    is_kept("one of its jobs was retried").await;
    client.ok("stop_flow", json!([1])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flow_that_nobody_starts_waits_for_seven_days() {
    let (house, _server, client) = open(0).await;
    let flow = client.ok("create_flow", json!({"jobs": {"a": {"script": "1"}}})).await;
    let made = client.ok("get_flow", json!([flow])).await;
    let id = job(&made, "a")["job_id"].as_str().unwrap();
    let given_up: f64 = house.redis.run(&["ZSCORE", "hero:q:scheduled", id]).await;
    let now: Vec<String> = house.redis.run(&["TIME"]).await;
    let waits = given_up / 1000.0 - now[0].parse::<f64>().unwrap();
    assert!((waits - 604_800.0).abs() < 600.0, "{waits} s");
    assert!(ttl(&house, "flow:1").await > 604_800, "the flow ends with its jobs and is kept until then");
}

/// Asks for the list of flows again and again.
async fn lists(client: &Client) {
    loop {
        client.ok("list_flows", json!([])).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_of_flows_take_nothing_from_one_that_is_being_made() {
    let (_house, server, client) = open(0).await;
    let jobs: serde_json::Map<String, Value> = (0..1000).map(|at| (format!("j{at}"), json!({"script": "1"}))).collect();
    let other = server.connect().await;
    for number in 1..=3 {
        let made = tokio::select! {
            made = client.ok("create_flow", json!({"jobs": jobs})) => made,
            () = lists(&other) => unreachable!("lists are asked for until it is made"),
        };
        assert_eq!(made, number);
        let flow = client.ok("get_flow", json!([made])).await;
        let there = flow["jobs"].as_array().unwrap().iter().filter(|job| job["status"] == "created").count();
        assert_eq!(there, 1000);
    }
}
