//! The calls that the audit log records.

use super::*;

/// The methods of the document, each with the parameters of its first example.
fn examples() -> Vec<(String, Value)> {
    let document: Value = serde_json::from_str(hero::rpc::document()).unwrap();
    let example = |method: &Value| {
        let given = method["examples"][0]["params"].as_array().unwrap();
        let said = given.iter().filter(|given| !given["value"].is_null());
        let params: Value = said.map(|given| (given["name"].as_str().unwrap().to_owned(), given["value"].clone())).collect();
        (method["name"].as_str().unwrap().to_owned(), params)
    };
    document["methods"].as_array().unwrap().iter().map(example).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_that_changes_something_is_one_record_and_no_other_is() {
    let recorded = Recorded::open(false).await;
    let client = recorded.server.connect().await;
    let audited = hero::rpc::audited();
    let mut asked = 0;
    for (method, mut params) in examples() {
        if method.starts_with("unsubscribe_") {
            continue;
        }
        if method.contains("wait") {
            params["wait_timeout"] = json!(0);
        }
        let before = recorded.entries().await.len();
        let outcome = match method.starts_with("subscribe_") {
            true => client.subscribe(&method, params).await.map(|_| json!(true)),
            false => client.call(&method, params).await,
        };
        let new = recorded.entries().await.split_off(before);
        let reads = ["get_", "list_", "find_", "wait_", "explain_", "check_", "subscribe_", "whoami", "ping", "server_info", "fetch_"];
        // A ping of another node goes out of this one, so it is no mere reading.
        let is_read = method != "ping_node" && reads.iter().any(|read| method.starts_with(read));
        assert_eq!(audited.contains(&&*method), !is_read, "{method}");
        if is_read {
            assert_eq!(new, [], "{method}");
            continue;
        }
        asked += 1;
        let of_caller: Vec<&Entry> = new.iter().filter(|entry| entry.what == method).collect();
        let [entry] = of_caller[..] else { panic!("{method}: {new:?}") };
        let code = outcome.as_ref().err().map(|fault| fault.code);
        match code {
            // The wait has run out: the job is there.
            None | Some(1101..=1103) => assert_eq!((&*entry.outcome, entry.code), ("ok", None), "{method}"),
            Some(1004 | 1005) => assert_eq!(&*entry.outcome, "refused", "{method}: {outcome:?}"),
            Some(code) => assert_eq!((&*entry.outcome, entry.code.map(i64::from)), ("failed", Some(code)), "{method}: {outcome:?}"),
        }
        assert!(entry.who == "anonymous" && entry.peer.as_ref().unwrap().starts_with("127.0.0.1:"), "{entry:?}");
    }
    assert!(asked >= 20, "only {asked} calls");
    assert_eq!(recorded.ground.verify().faults, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_names_what_was_made_and_what_was_changed() {
    let recorded = Recorded::open(false).await;
    let client = recorded.server.connect().await;
    let job = client.ok("create_job", json!({ "script": "1" })).await.as_str().unwrap().to_owned();
    let jobs = client.ok("create_jobs", json!({ "jobs": [{ "script": "1" }, { "script": "2" }] })).await;
    let schedule = client.ok("create_schedule", json!({ "job": { "script": "1" }, "every": 3600 })).await["schedule_id"].clone();
    let identity = client.ok("create_identity", json!({})).await["identity_id"].clone();
    let made = client.ok("create_token", json!({ "identity_id": identity })).await;
    let token = made["token_id"].as_str().unwrap().to_owned();
    client.ok("set_object", json!(["people", { "id": "ada" }])).await;
    client.ok("delete_object", json!(["people", "ada"])).await;
    client.ok("drop_collection", json!(["people"])).await;
    client.ok("pause_queue", json!({ "script_type": "sal", "group": "io" })).await;
    client.ok("grant", json!({ "identity_id": identity, "role": "reader" })).await;
    client.ok("revoke_token", json!([token])).await;
    client.ok("delete_schedule", json!([schedule])).await;
    client.ok("start_job", json!([job])).await;
    client.ok("stop_job", json!([job])).await;
    client.ok("delete_job", json!([job])).await;
    let context = client.ok("create_context", json!({ "admins": [identity] })).await["context_id"].clone();
    client.ok("delete_context", json!([context])).await;
    let line = json!({ "message": "hello", "message_type": "chat", "address": "redis://127.0.0.1:1", "topic": "news" });
    let sent = client.ok("send_message", line).await["message_id"].clone();
    client.call("acknowledge_message", json!([0, sent])).await.ok();
    client.call("delete_message", json!([0, sent])).await.ok();
    let found: Vec<(String, String, Option<u32>)> = recorded
        .entries()
        .await
        .into_iter()
        .skip(1)
        .map(|entry| (entry.what, entry.object.unwrap_or_default(), entry.context.map(|context| context.0)))
        .collect();
    let (one, two) = (jobs[0].as_str().unwrap(), jobs[1].as_str().unwrap());
    let expected: Vec<(String, String, Option<u32>)> = [
        ("create_job", format!("job:{job}"), Some(0)),
        ("create_jobs", format!("job:{one} job:{two}"), Some(0)),
        ("create_schedule", format!("schedule:{}", schedule.as_str().unwrap()), Some(0)),
        ("create_identity", format!("identity:{identity}"), None),
        ("create_token", format!("token:{token} identity:{identity}"), None),
        ("set_object", "object:people/ada".to_owned(), Some(0)),
        ("delete_object", "object:people/ada".to_owned(), Some(0)),
        ("drop_collection", "collection:people".to_owned(), Some(0)),
        ("pause_queue", "queue:sal:io".to_owned(), Some(0)),
        ("grant", format!("identity:{identity} role:reader"), Some(0)),
        ("revoke_token", format!("token:{token}"), None),
        ("delete_schedule", format!("schedule:{}", schedule.as_str().unwrap()), Some(0)),
        ("start_job", format!("job:{job}"), Some(0)),
        ("stop_job", format!("job:{job}"), Some(0)),
        ("delete_job", format!("job:{job}"), Some(0)),
        ("create_context", format!("context:{context} identity:{identity}"), None),
        ("delete_context", String::new(), context.as_u64().map(|context| context as u32)),
        ("send_message", format!("message:0:{sent} target:0"), Some(0)),
        ("acknowledge_message", format!("message:0:{sent}"), Some(0)),
        ("delete_message", format!("message:0:{sent}"), Some(0)),
    ]
    .into_iter()
    .map(|(what, object, context)| (what.to_owned(), object, context))
    .collect();
    assert_eq!(found, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_waited_for_is_recorded_when_it_is_stored() {
    let recorded = Recorded::open(false).await;
    let client = recorded.server.connect().await;
    let waits = {
        let client = client.clone();
        tokio::spawn(async move { client.call("run_and_wait", json!({ "script": "1", "wait_timeout": 3000 })).await })
    };
    let entry = until("its record", || async { recorded.of("run_and_wait").await.pop() }).await;
    assert_eq!(entry.outcome, "ok");
    let job = entry.object.unwrap().trim_start_matches("job:").to_owned();
    client.ok("stop_job", json!([job])).await;
    assert_eq!(waits.await.unwrap().unwrap_err().code, 1103);
    assert_eq!(recorded.of("run_and_wait").await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_a_batch_and_notifications_are_records_with_what_they_made() {
    let recorded = Recorded::open(false).await;
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "create_job", "params": {"script": "1"}},
        {"jsonrpc": "2.0", "method": "create_job", "params": {"script": "2"}},
        {"jsonrpc": "2.0", "method": "run_and_wait", "params": {"script": "3"}},
    ]);
    assert_eq!(recorded.server.post(&batch.to_string()).await.0, 200);
    let entries = recorded.entries().await;
    let mut made: Vec<&str> = entries.iter().skip(1).map(|entry| &*entry.what).collect();
    made.sort_unstable();
    assert_eq!(made, ["create_job", "create_job", "run_and_wait"]);
    assert!(entries[1..].iter().all(|entry| entry.outcome == "ok" && entry.object.as_ref().unwrap().starts_with("job:")), "{entries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_recorded_is_refused_and_reading_goes_on() {
    let recorded = Recorded::open(false).await;
    let client = recorded.server.connect().await;
    let away = recorded.ground.home.path().join("away");
    std::fs::rename(recorded.ground.directory(), &away).unwrap();
    std::fs::write(recorded.ground.directory(), "in the way").unwrap();
    // The one that finds it is recorded later.
    client.ok("create_job", json!({ "script": "1" })).await;
    until("it fails", || async { recorded.audit.failing() }).await;
    let fault = client.fault("create_job", json!({ "script": "2" })).await;
    assert_eq!((fault.code, fault.data), (1009, json!({ "outcome": "not_done" })));
    assert!(fault.message.contains("the audit log cannot be written") && fault.message.ends_with("nothing was done"), "{}", fault.message);
    assert_eq!(client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().len(), 1);
    std::fs::remove_file(recorded.ground.directory()).unwrap();
    std::fs::rename(&away, recorded.ground.directory()).unwrap();
    until("it works", || async { client.call("create_job", json!({ "script": "3" })).await.ok() }).await;
    assert_eq!(recorded.of("create_job").await.len(), 2);
    assert_eq!(recorded.ground.verify().faults, []);
}
