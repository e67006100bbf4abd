//! Creating, starting, stopping and deleting jobs.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_through_its_life_by_bare_words() {
    let (_house, _server, client) = open(1).await;
    let id = create(&client, json!(["40 + 2"])).await;
    assert_eq!(id.as_str().unwrap().len(), 36);
    assert_eq!(client.ok("get_status", json!([id])).await, "created");
    assert_eq!(client.ok("start_job", json!([id])).await, "dispatched");
    let result = client.ok("wait_job", json!([id])).await;
    assert_eq!(
        (&result["job_id"], &result["status"], &result["output"], &result["value"]),
        (&id, &json!("finished"), &json!("42"), &json!(42))
    );
    assert_eq!(client.ok("get_result", json!([id])).await, result);
    assert_eq!(client.ok("get_status", json!([id])).await, "finished");
    assert_eq!(client.ok("delete_job", json!([id])).await, true);
    assert_eq!(client.fault("get_status", json!([id])).await.code, 1001);
    assert_eq!(client.ok("ping", Value::Null).await, "pong");
    assert_eq!(client.ok("ping", json!([])).await, "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_created_and_started_in_one_call() {
    let (_house, _server, client) = open(1).await;
    let id = client.ok("create_job", json!({"script": "40 + 2", "start": true})).await;
    assert_eq!(client.ok("wait_job", json!([id])).await["output"], "42");
    // A call that is repeated starts what was only created, and runs nothing twice.
    let keyed = |start: bool| json!({"script": "1", "idempotency_key": "k", "start": start});
    let id = client.ok("create_job", keyed(false)).await;
    assert_eq!(client.ok("get_status", json!([id])).await, "created");
    for _ in 0..2 {
        assert_eq!(client.ok("create_job", keyed(true)).await, id);
        assert_eq!(client.ok("wait_job", json!([id])).await["attempt"], 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_jobs_are_created_and_started_in_one_call_or_none_is() {
    let (_house, _server, client) = open(1).await;
    let (first, second) = (hero::model::JobId::random(), hero::model::JobId::random());
    let chain = json!([{"script": "inputs.len()", "job_id": second, "prerequisites": [first]}, {"script": "1", "job_id": first}]);
    assert_eq!(client.ok("create_jobs", json!({"jobs": chain, "start": true})).await, json!([second, first]));
    assert_eq!(client.ok("wait_job", json!([second])).await["output"], "1");
    let keyed = json!([{"script": "1", "idempotency_key": "a"}, {"script": "1", "idempotency_key": "b"}]);
    let ids = client.ok("create_jobs", json!({"jobs": keyed})).await;
    for _ in 0..2 {
        assert_eq!(client.ok("create_jobs", json!({"jobs": keyed, "start": true})).await, ids);
        for id in ids.as_array().unwrap() {
            assert_eq!(client.ok("wait_job", json!([id])).await["attempt"], 1);
        }
    }
    let created = client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().len();
    let many: Vec<Value> = (0..65).map(|_| json!({"script": "1"})).collect();
    let fault = client.fault("create_jobs", json!({"jobs": many, "start": true})).await;
    assert!(fault.code == -32602 && fault.message.contains("start: is for at most 64 jobs"), "{fault:?}");
    let other = json!([{"script": "1"}, {"script": "1", "script_type": "nobody"}]);
    assert_eq!(client.fault("create_jobs", json!({"jobs": other, "start": true})).await.data["index"], 1);
    assert_eq!(client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().len(), created);
}

#[tokio::test(flavor = "multi_thread")]
async fn omitted_parameters_have_their_defaults() {
    let (_house, _server, client) = open(0).await;
    let id = create(&client, json!(["1"])).await;
    let job = client.ok("get_job", json!([id])).await;
    let expected = json!({"script": "1", "script_type": "osis", "context_id": 0, "caller_id": "anonymous", "priority": 1, "timeout": 60,
        "retries": 0, "concurrent": false, "attempt": 0, "crashes": 0, "status": "created"});
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&job[field], value, "{field}");
    }
    for field in ["output", "error", "started_at", "finished_at", "queued_at", "run_at", "group", "instance", "name"] {
        assert!(job.get(field).is_none(), "{field}: {}", job[field]);
    }
    // By position, null is not given.
    let id = create(&client, json!(["1", null, {"a": null}, null, null, null, 0])).await;
    let job = client.ok("get_job", json!([id])).await;
    assert_eq!((&job["script_type"], &job["args"], &job["priority"]), (&json!("osis"), &json!({"a": null}), &json!(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn values_come_as_json_and_outputs_as_text() {
    let (_house, _server, client) = open(1).await;
    for (script, output, value) in [
        ("40 + 2", "42", json!(42)),
        ("\"text\"", "text", json!("text")),
        ("\"42\"", "42", json!("42")),
        ("()", "", Value::Null),
        ("", "", Value::Null),
        ("#{a: [1, 2.5, true, ()]}", r#"{"a":[1,2.5,true,null]}"#, json!({"a": [1, 2.5, true, null]})),
        ("args", r#"{"b":[]}"#, json!({"b": []})),
        ("env.NAME + CALLER_ID + CONTEXT_ID", "xme0", json!("xme0")),
    ] {
        let spec = json!({"script": script, "args": {"b": []}, "env_vars": {"NAME": "x"}, "caller_id": "me"});
        let result = client.ok("run_and_wait", spec).await;
        assert_eq!((&result["output"], result.get("value")), (&json!(output), Some(&value)), "{script}");
    }
    let id = create(&client, json!(["JOB_ID"])).await;
    client.ok("start_job", json!([id])).await;
    assert_eq!(client.ok("wait_job", json!([id])).await["value"], id);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_status_does_not_allow_is_refused_with_the_status() {
    let (_house, _server, client) = open(1).await;
    let refused = async |method: &str, id: &Value, status: &str| {
        let fault = client.fault(method, json!([id])).await;
        assert_eq!((fault.code, fault.data), (1002, json!({"job_id": id, "status": status})), "{method}");
        assert!(fault.message.contains(status), "{method}: {}", fault.message);
    };
    let job = create(&client, json!(["loop {}"])).await;
    refused("get_result", &job, "created").await;
    client.ok("start_job", json!([job])).await;
    is(&client, &job, "started").await;
    refused("start_job", &job, "started").await;
    refused("delete_job", &job, "started").await;
    refused("get_result", &job, "started").await;
    let queued = start(&client, json!(["1"])).await;
    refused("start_job", &queued, "dispatched").await;
    refused("get_result", &queued, "dispatched").await;
    assert_eq!(client.ok("stop_job", json!([job])).await, "error");
    refused("start_job", &job, "error").await;
    refused("stop_job", &job, "error").await;
    client.ok("wait_job", json!([queued])).await;
    refused("stop_job", &queued, "finished").await;
    refused("start_job", &queued, "finished").await;
    let fault = client.fault("create_job", json!({"script": "2", "job_id": queued})).await;
    assert_eq!((fault.code, fault.data), (1002, json!({"job_id": queued, "status": "finished"})));
    assert_eq!(client.ok("get_job", json!([queued])).await["script"], "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_stopped_in_every_state() {
    let (house, _server, client) = open(1).await;
    let created = create(&client, json!(["1"])).await;
    let scheduled = start(&client, json!({"script": "1", "run_at": "2999-01-01T00:00:00Z"})).await;
    let retried = start(&client, json!({"script": "throw 1", "retries": 5, "retry_backoff": 1000})).await;
    is(&client, &retried, "scheduled").await;
    let running = start(&client, json!(["loop {}"])).await;
    is(&client, &running, "started").await;
    let queued = start(&client, json!(["1"])).await;
    let waits = [&created, &scheduled, &retried, &running, &queued].map(|id| {
        let (client, id) = (client.clone(), id.clone());
        tokio::spawn(async move { client.fault("wait_job", json!([id])).await })
    });
    for (id, message) in
        [(&created, "stopped"), (&scheduled, "stopped"), (&retried, "stopped"), (&queued, "stopped"), (&running, "stopped_by_request")]
    {
        assert_eq!(client.ok("stop_job", json!([id])).await, "error");
        let fault = client.fault("get_result", json!([id])).await;
        let error = &fault.data["error"];
        assert_eq!((fault.code, &error["kind"], &error["message"]), (1103, &json!("stopped"), &json!(message)));
    }
    for wait in waits {
        assert_eq!(wait.await.unwrap().code, 1103);
    }
    for key in ["hero:q:work:type:osis", "hero:q:scheduled", "hero:q:leases"] {
        assert_eq!(house.redis.run::<i64>(&["EXISTS", key]).await, 0, "{key}");
    }
    assert_eq!(client.ok("run_and_wait", json!(["1"])).await["value"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_deleted_job() {
    let (house, _server, client) = open(1).await;
    let finished = client.ok("run_and_wait", json!({"script": "print(1)", "idempotency_key": "k"})).await["job_id"].clone();
    let failed = start(&client, json!(["print(1); throw 1"])).await;
    is(&client, &failed, "error").await;
    let created = create(&client, json!(["1"])).await;
    let scheduled = start(&client, json!({"script": "1", "run_at": "2999-01-01T00:00:00Z"})).await;
    let queued = start(&client, json!(["1", "sal"])).await;
    let waiting = tokio::spawn({
        let (client, queued) = (client.clone(), queued.clone());
        async move { client.fault("wait_job", json!([queued])).await }
    });
    until("the wait", || async { house.store.inbox().awaits(&queued.as_str().unwrap().parse().unwrap()).then_some(()) }).await;
    for id in [&finished, &failed, &created, &scheduled, &queued] {
        assert_eq!(client.ok("delete_job", json!([id])).await, true);
        assert_eq!(client.fault("delete_job", json!([id])).await.code, 1001);
        let keys: Vec<String> = house.redis.run(&["KEYS", &format!("*{}*", id.as_str().unwrap())]).await;
        assert!(keys.is_empty(), "{keys:?}");
    }
    assert_eq!(waiting.await.unwrap().code, 1001);
    for queue in ["hero:q:work:type:sal", "hero:q:scheduled", "hero:q:leases"] {
        assert_eq!(house.redis.run::<i64>(&["EXISTS", queue]).await, 0, "{queue}");
    }
    assert_eq!(client.ok("list_jobs", json!({})).await["jobs"], json!([]));
    // The key is free again.
    assert_ne!(create(&client, json!({"script": "2", "idempotency_key": "k"})).await, finished);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_idempotency_key_gives_the_same_job() {
    let (_house, _server, client) = open(1).await;
    let spec = json!({"script": "print(1); args", "args": 7, "idempotency_key": "key"});
    let first = client.ok("run_and_wait", spec.clone()).await;
    assert_eq!(client.ok("run_and_wait", spec.clone()).await, first);
    assert_eq!(create(&client, spec.clone()).await, first["job_id"]);
    assert_eq!(client.ok("get_logs", json!([first["job_id"]])).await["lines"].as_array().unwrap().len(), 1);
    let fault = client.fault("create_job", json!({"script": "print(1); args", "args": 8, "idempotency_key": "key"})).await;
    assert_eq!((fault.code, fault.data), (1010, json!({"job_id": first["job_id"]})));
    // Another caller's key is another key.
    let other = client.ok("run_and_wait", json!({"script": "2", "idempotency_key": "key", "caller_id": "other"})).await;
    assert_ne!(other["job_id"], first["job_id"]);
    // At the same time from many.
    let spec = json!({"script": "sleep(0.05); 1", "idempotency_key": "busy"});
    let results = futures_util::future::join_all((0..50).map(|_| client.ok("run_and_wait", spec.clone()))).await;
    assert!(results.iter().all(|result| result["job_id"] == results[0]["job_id"] && result["attempt"] == 1), "{results:?}");
    // A failure is the same failure.
    let spec = json!({"script": "throw 1", "idempotency_key": "bad"});
    assert_eq!(client.fault("run_and_wait", spec.clone()).await, client.fault("run_and_wait", spec).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn actors_and_queues_are_listed() {
    let (_house, _server, client) = open(2).await;
    let actors = client.ok("list_actors", json!([])).await;
    let posts: Vec<_> =
        actors.as_array().unwrap().iter().map(|actor| (&actor["script_type"], &actor["group"], &actor["instance"])).collect();
    assert_eq!(posts, [(&json!("osis"), &json!("default"), &json!(1)), (&json!("osis"), &json!("default"), &json!(2))]);
    start(&client, json!(["1", "sal"])).await;
    start(&client, json!({"script": "1", "script_type": "sal", "group": "g", "instance": 4, "priority": 0})).await;
    let queues = client.ok("list_queues", json!({})).await;
    let find = |name: &str| queues.as_array().unwrap().iter().find(|queue| queue["name"] == name).unwrap().clone();
    assert_eq!((&find("hero:q:work:type:osis")["depth"], &find("hero:q:work:type:osis")["actors"]), (&json!(0), &json!(2)));
    assert_eq!((&find("hero:q:work:type:sal")["depth"], &find("hero:q:work:type:sal")["actors"]), (&json!(1), &json!(0)));
    let urgent = find("hero:q:work:type:sal:group:g:inst:4:prio:0");
    assert_eq!((&urgent["group"], &urgent["instance"], &urgent["priority"]), (&json!("g"), &json!(4), &json!(0)));
    let info = client.ok("server_info", json!([])).await;
    assert_eq!((&info["name"], &info["contexts"]), (&json!("hero"), &json!([0])));
    assert!(info["store"]["version"].is_string() && info["listen"][0].as_str().unwrap().starts_with("127.0.0.1:"), "{info}");
}
