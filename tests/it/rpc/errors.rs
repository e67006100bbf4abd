//! Each invalid call gets its error code, and a message that says what to do.

use super::*;
use crate::support::{CallError, Redis, dispatcher};

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_are_named() {
    let (_house, _server, client) = open(0).await;
    let deep = format!("{}{}", "[".repeat(100), "]".repeat(100));
    for (method, params, expected) in [
        ("create_job", json!({}), "parameter `script` is missing"),
        ("create_job", json!({"script": 1}), "parameter `script`: expected a text, but got 1"),
        ("create_job", json!({"script": "1", "scrpt_type": "osis"}), "unknown parameter `scrpt_type`; known: script, script_type"),
        ("create_job", json!(["1", "o s i s"]), "parameter `script_type`: "),
        (
            "create_job",
            json!(["1", "osis", null, null, "x"]),
            "parameter `retries`: expected a whole number from 0 to 4294967295, but got \"x\"",
        ),
        ("create_job", json!({"script": "1", "priority": 3}), "parameter `priority`: a priority is 0 (urgent), 1 (normal) or 2 (low)"),
        ("create_job", json!({"script": "1", "timeout": -1}), "parameter `timeout`: -1 is not a number of seconds"),
        ("create_job", json!({"script": "1", "timeout": 0}), "timeout: is 0"),
        ("create_job", json!({"script": "1", "timeout": "1"}), "parameter `timeout`: \"1\" is a text without a unit"),
        ("create_job", json!({"script": "1", "timeout": "1 parsec"}), "parameter `timeout`: \"1 parsec\" is not a length of time"),
        ("create_job", json!({"script": "1", "timeout": {}}), "parameter `timeout`: "),
        (
            "create_job",
            json!({"script": "1", "retries": -1}),
            "parameter `retries`: expected a whole number from 0 to 4294967295, but got -1",
        ),
        (
            "create_job",
            json!({"script": "1", "retries": u64::MAX}),
            "parameter `retries`: expected a whole number from 0 to 4294967295, but got 18446744073709551615",
        ),
        (
            "create_jobs",
            json!([[{"script": "1"}, {"script": "1", "retries": "x"}]]),
            "parameter `jobs[1].retries`: expected a whole number from 0 to 4294967295, but got \"x\"",
        ),
        ("create_jobs", json!([[{}]]), "parameter `jobs[0].script` is missing"),
        ("create_job", json!({"script": "1", "concurrent": "yes"}), "parameter `concurrent`: expected true or false, but got \"yes\""),
        ("create_job", json!({"script": "1", "env_vars": {"A": 1}}), "parameter `env_vars.A`: expected a text, but got a number"),
        ("create_job", json!({"script": "1", "env_vars": {"A=B": "1"}}), "env_vars: the name \"A=B\""),
        ("create_job", json!({"script": "1", "labels": []}), "parameter `labels`: expected an object, but got an array"),
        ("create_job", json!({"script": "1", "run_at": "tomorrow"}), "parameter `run_at`: "),
        ("create_job", json!({"script": "1", "group": "a:b"}), "parameter `group`: \"a:b\" is not a name"),
        ("create_job", json!({"script": "1", "job_id": "x"}), "parameter `job_id`: \"x\" is not a UUID"),
        ("create_job", json!({"script": "1", "log_path": "../x"}), "log_path: "),
        ("create_job", json!({"script": "1", "log_path": "/etc/passwd"}), "log_path: "),
        ("create_job", json!({"script": "1", "log_path": "a/".repeat(8) + "x"}), "log_path: \"a/a/a/a/a/a/a/a/x\" has more than 8 parts"),
        ("create_job", json!({"script": "1", "name": "x".repeat(2000)}), "name: is longer than 1024 bytes"),
        ("create_job", json!({"script": "1", "prerequisites": [NOBODY]}), &format!("prerequisites: job {NOBODY} does not exist")),
        ("create_job", json!({"script": "1", "dependents": [NOBODY]}), &format!("dependents: job {NOBODY} does not exist")),
        ("create_job", json!({"script": "1", "parent_id": NOBODY}), &format!("parent_id: job {NOBODY} does not exist")),
        ("run_and_wait", json!({"script": "1", "predecessor_id": NOBODY}), &format!("predecessor_id: job {NOBODY} does not exist")),
        (
            "run_and_wait",
            json!({"script": "1", "wait_timeout": 3601}),
            "parameter `wait_timeout`: 3601 s is longer than a call may wait (3600 s)",
        ),
        ("wait_job", json!([NOBODY, 3600.5]), "parameter `wait_timeout`: 3600.5 s is longer"),
        ("wait_job", json!([NOBODY, -1]), "parameter `wait_timeout`: "),
        ("start_job", json!([]), "parameter `job_id` is missing"),
        ("start_job", json!(["6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f7"]), "parameter `job_id`: "),
        ("start_job", json!([42]), "parameter `job_id`: "),
        ("start_job", json!([NOBODY, 0, 1]), "the method has at most 2 parameters (job_id, context_id), but got 3"),
        (
            "create_job",
            json!({"script": "1", "priority": "low"}),
            "parameter `priority`: expected 0 (urgent), 1 (normal) or 2 (low), but got",
        ),
        ("list_jobs", json!({"limit": "x"}), "parameter `limit`: expected a whole number from 1 to 1000, but got \"x\""),
        ("list_jobs", json!({"limit": 0}), "parameter `limit`: a page has 1 to 1000 items, not 0"),
        ("list_jobs", json!({"limit": 1001}), "parameter `limit`: a page has 1 to 1000 items, not 1001"),
        ("list_jobs", json!({"filter": {"state": "created"}}), "unknown parameter `filter.state`; known: status, script_type, "),
        ("list_jobs", json!({"filter": {"status": "done"}}), "parameter `filter.status`: expected one of created, "),
        ("list_jobs", json!({"cursor": "x"}), "cursor: is not a cursor"),
        ("ping", json!([1]), "the method has no parameters, but got 1"),
        ("ping", json!({"a": 1}), "unknown parameter `a`; known: none"),
        ("server_info", json!({"verbose": true}), "unknown parameter `verbose`"),
        ("ping", json!("x"), "params must be an object or an array"),
    ] {
        let fault = client.fault(method, params.clone()).await;
        assert_eq!(fault.code, -32602, "{method} {params}: {fault:?}");
        assert!(fault.message.starts_with(expected) && !fault.message.contains(" column "), "{method} {params}: {}", fault.message);
    }
    // What is deep but bounded is passed on.
    let args: Value = serde_json::from_str(&deep).unwrap();
    create(&client, json!({"script": "1", "args": args})).await;
    let fault = client.fault("no_such_method", json!([])).await;
    assert_eq!(fault.code, -32601, "{fault:?}");
    assert_eq!(client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn cursors_that_were_not_given_out_are_refused() {
    let (_house, _server, client) = open(0).await;
    let id = create(&client, json!(["1"])).await;
    for cursor in
        ["", "x", "-", "+", "$", "1", "1-x", "+5-0", "5-+0", " 5-0", "18446744073709551615-18446744073709551615", "99999999999999999999-0"]
    {
        for (method, params) in [
            ("get_logs", json!([id, cursor])),
            ("subscribe_logs", json!([id, cursor])),
            ("subscribe_job", json!([id, cursor])),
            ("subscribe_events", json!([{}, cursor])),
        ] {
            let fault = client.call(method, params).await.unwrap_err();
            assert!(fault.code == -32602 && fault.message.starts_with("cursor: "), "{method} {cursor:?}: {fault:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_type_is_refused_and_a_known_one_without_actors_waits() {
    let (_house, _server, client) = open(1).await;
    for method in ["create_job", "run_and_wait"] {
        let fault = client.fault(method, json!(["1", "python"])).await;
        assert_eq!(fault.code, 1003);
        assert!(
            fault.message.contains("script type python") && fault.message.contains("osis") && fault.message.contains("sal"),
            "{fault:?}"
        );
    }
    let fault = client.fault("create_job", json!(["1", "pyton"])).await;
    assert!(fault.message.ends_with("; did you mean python?"), "{fault:?}");
    let fault = client.fault("create_job", json!(["1", "python"])).await;
    assert!(fault.message.contains(": `hero serve --pool osis=2 --pool sal=1 --pool python=1` starts"), "{fault:?}");
    let fault = client.fault("run_and_wait", json!({"script": "1", "script_type": "sal", "wait_timeout": 0.05})).await;
    assert_eq!((fault.code, &fault.data["status"]), (1102, &json!("dispatched")));
    let explanation = fault.data["explanation"].as_str().unwrap();
    assert!(explanation.contains("no live actor takes jobs of sal") && fault.message.contains(explanation), "{fault:?}");
    let id = &fault.data["job_id"];
    assert_eq!(client.ok("get_status", json!([id])).await, "dispatched");
    let spec = json!({"script": "1", "group": "nobodys", "wait_timeout": 0});
    let fault = client.fault("run_and_wait", spec).await;
    assert!(fault.data["explanation"].as_str().unwrap().contains("osis, group nobodys"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_runs_out_says_why_in_every_state() {
    let (_house, _server, client) = open(1).await;
    let waits = async |id: &Value, status: &str, why: &str| {
        let fault = client.fault("wait_job", json!([id, 0])).await;
        assert_eq!((fault.code, &fault.data["job_id"], &fault.data["status"]), (1102, id, &json!(status)));
        assert!(fault.data["explanation"].as_str().unwrap().contains(why), "{fault:?}");
        assert!(fault.message.ends_with("wait_job waits on"), "{}", fault.message);
    };
    waits(&create(&client, json!(["1"])).await, "created", "start_job starts it").await;
    waits(&start(&client, json!({"script": "1", "run_at": "2999-01-01T00:00:00Z"})).await, "scheduled", "2999-01-01").await;
    let retried = start(&client, json!({"script": "throw 1", "retries": 1, "retry_backoff": 1000})).await;
    is(&client, &retried, "scheduled").await;
    waits(&retried, "scheduled", "attempt 1 failed").await;
    let running = start(&client, json!(["loop {}"])).await;
    is(&client, &running, "started").await;
    waits(&running, "started", "osis:default:1 has been running it since").await;
    waits(&start(&client, json!(["1"])).await, "dispatched", "all actors of osis are busy; its queue holds 1 job").await;
    client.ok("stop_job", json!([running])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_failure_stays_when_the_next_attempt_ends_otherwise() {
    let (_house, _server, client) = open(1).await;
    let twice =
        |then: &str| json!({"script": format!("if ATTEMPT == 1 {{ throw #{{ code: 1 }} }} {then}"), "retries": 1, "retry_backoff": 0});
    let result = client.ok("run_and_wait", twice("ATTEMPT")).await;
    assert_eq!((&result["output"], &result["attempt"]), (&json!("2"), &json!(2)));
    assert!(client.ok("get_job", json!([result["job_id"]])).await.get("error").is_none());
    let fault = client.fault("run_and_wait", twice("throw `again`")).await;
    assert_eq!((&fault.data["error"]["message"], fault.data["error"].get("data")), (&json!("again"), None));
    assert_eq!(client.ok("get_job", json!([fault.data["job_id"]])).await["error"], fault.data["error"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_say_where_and_why() {
    let (_house, _server, client) = open(1).await;
    let run = async |spec: Value| -> CallError {
        let fault = client.fault("run_and_wait", spec).await;
        let id = &fault.data["job_id"];
        assert_eq!(fault.data["status"], "error");
        assert_eq!(client.fault("wait_job", json!([id])).await, fault);
        assert_eq!(client.fault("get_result", json!([id])).await, fault);
        assert_eq!(client.ok("get_job", json!([id])).await["error"], fault.data["error"]);
        fault
    };
    let fault = run(json!(["let a = 1;\n  throw \"broken\""])).await;
    assert_eq!((fault.code, &fault.data["attempt"]), (1101, &json!(1)));
    assert_eq!(fault.data["error"], json!({"kind": "script", "message": "broken", "line": 2, "column": 3}));
    assert!(fault.message.contains("broken"), "{}", fault.message);
    let fault = run(json!(["fn inner() { throw 1 }\nfn outer() { inner() }\nouter()"])).await;
    assert_eq!((fault.code, &fault.data["error"]["stack"]), (1101, &json!(["inner", "outer"])));
    let fault = run(json!(["throw #{ code: 7, message: `no price` }"])).await;
    let error = json!({"kind": "script", "message": "no price", "line": 1, "column": 1, "data": {"code": 7, "message": "no price"}});
    assert_eq!(fault.data["error"], error);
    // What serde_json would take for JSON within a text.
    for marked in ["[", "{\"$serde_json::private::RawValue\":\"[\"}"] {
        let thrown = json!({ "$serde_json::private::RawValue": marked });
        let fault = run(json!({ "script": "throw args", "args": thrown })).await;
        assert_eq!(fault.data["error"]["data"], thrown);
    }
    let fault = run(json!(["let x = ;"])).await;
    assert_eq!((fault.code, &fault.data["error"]["kind"], &fault.data["error"]["line"]), (1101, &json!("script"), &json!(1)));
    let fault = run(json!({"script": "loop {}", "timeout": 0.05})).await;
    let error = &fault.data["error"];
    assert_eq!((fault.code, &error["kind"], &error["message"], &error["line"]), (1101, &json!("timeout"), &json!("timeout"), &json!(1)));
    for (script, limit) in [
        ("let s = \"x\"; loop { s += s }", "memory"),
        ("let a = []; for i in 0..65 { a = [a] } a", "result"),
        ("fn f(x) { f(x) } f(0)", "operations"),
    ] {
        let fault = run(json!([script])).await;
        assert_eq!(
            (fault.code, &fault.data["error"]["kind"], &fault.data["error"]["limit"]),
            (1101, &json!("limit"), &json!(limit)),
            "{script}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_with_the_limit() {
    let (_house, server, client) = open(0).await;
    let fault = client.fault("create_job", json!(["1".repeat(65_537)])).await;
    assert_eq!((fault.code, &fault.data), (1008, &json!({"limit": 65_536})));
    assert!(fault.message.contains("65537"), "{}", fault.message);
    create(&client, json!(["1".repeat(65_536)])).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "create_job", "params": ["1".repeat(3 << 20)]}).to_string();
    let (status, answer) = server.post(&body).await;
    assert!(status == 413 || answer.contains("1008") || answer.contains("-32007"), "{status} {answer}");
    assert_eq!(client.ok("ping", json!([])).await, "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_and_a_full_store_say_when_to_come_back() {
    let redis = Redis::start().await;
    let dispatcher = dispatcher([redis.plan().with_room(3).store().await], redis.directory());
    let shutdown = tokio_util::sync::CancellationToken::new();
    let _stop = shutdown.clone().drop_guard();
    drop(dispatcher.start_services(&shutdown));
    let server = Server::over(&dispatcher).await;
    let client = server.connect().await;
    let late = create(&client, json!(["1"])).await;
    for _ in 0..3 {
        start(&client, json!(["1"])).await;
    }
    let full = |fault: &CallError| fault.code == 1007 && fault.data["retry_after_ms"].as_u64().is_some_and(|wait| wait > 0);
    let fault = client.fault("start_job", json!([late])).await;
    assert!(full(&fault) && fault.message.contains("holds 3 jobs"), "{fault:?}");
    assert_eq!(client.ok("get_status", json!([late])).await, "created");
    // One that was only created is started with the others, or none is.
    let keyed = json!({"script": "1", "idempotency_key": "k"});
    create(&client, keyed.clone()).await;
    let with_earlier = json!([{"script": "1", "priority": 0, "idempotency_key": "a"}, keyed]);
    let jobs = json!([{"script": "1", "priority": 0}, {"script": "1"}]);
    for (method, params) in [
        ("run_and_wait", json!(["1"])),
        ("create_job", json!({"script": "1", "start": true})),
        ("create_jobs", json!({"jobs": jobs, "start": true})),
        ("create_jobs", json!({"jobs": with_earlier, "start": true})),
    ] {
        let fault = client.fault(method, params).await;
        assert!(full(&fault), "{method}: {fault:?}");
    }
    assert_eq!(client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().len(), 5, "what was refused is not there");
    // Other queues take jobs, and what only waits for its time is in none.
    start(&client, json!({"script": "1", "priority": 0})).await;
    start(&client, json!({"script": "1", "run_at": "2999-01-01T00:00:00Z"})).await;
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "1mb"]).await;
    let fault = until("memory is short", || async { client.call("create_job", json!(["1"])).await.err() }).await;
    assert!(full(&fault) && fault.message.contains("memory"), "{fault:?}");
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    until("memory is there again", || async { client.call("create_job", json!(["1"])).await.ok() }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_calls_in_a_batch_are_answered_in_order() {
    let (_house, server, client) = open(1).await;
    let calls: Vec<Value> = (0..100)
        .map(|id| {
            let (method, params) = match id % 10 {
                0 => ("run_and_wait", json!([format!("{id} + 1")])),
                1 => ("create_job", json!(["1"])),
                2 => ("get_status", json!([NOBODY])),
                3 => ("ping", json!([])),
                4 => ("nonsense", json!([])),
                5 => ("list_jobs", json!({"limit": 3})),
                6 => ("create_job", json!({"script": 1})),
                7 => ("list_actors", json!([])),
                8 => ("subscribe_events", json!([])),
                _ => ("run_and_wait", json!(["throw 1"])),
            };
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        })
        .collect();
    let (status, answer) = server.post(&Value::from(calls).to_string()).await;
    let answers: Vec<Value> = serde_json::from_str(&answer).unwrap();
    assert_eq!((status, answers.len()), (200, 100));
    for (id, answer) in answers.iter().enumerate() {
        assert_eq!(answer["id"], id);
        let code = answer["error"]["code"].as_i64();
        match id % 10 {
            0 => assert_eq!(answer["result"]["value"], id + 1),
            2 => assert_eq!(code, Some(1001)),
            3 => assert_eq!(answer["result"], "pong"),
            4 => assert_eq!(code, Some(-32601)),
            6 => assert_eq!(code, Some(-32602)),
            8 => assert_eq!(code, Some(-32600)),
            9 => assert_eq!(code, Some(1101)),
            _ => assert!(answer.get("result").is_some(), "{answer}"),
        }
    }
    assert_eq!(client.ok("ping", json!([])).await, "pong");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_whose_key_is_no_list_is_told_from_one_that_is_full() {
    let (house, _server, client) = open(0).await;
    let ended = create(&client, json!(["1"])).await;
    client.ok("stop_job", json!([ended])).await;
    let created = create(&client, json!(["1"])).await;
    let _: () = house.redis.run(&["SET", "hero:q:work:type:osis", "x"]).await;
    for (method, params) in [("run_and_wait", json!(["1"])), ("start_job", json!([created])), ("retry_job", json!([ended]))] {
        let fault = client.fault(method, params).await;
        assert!(fault.code == 1007 && fault.message.contains("somebody made something else of its key"), "{method}: {fault:?}");
    }
}
