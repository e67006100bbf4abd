//! Requests are read as callers mean them: notifications, nulls, ids in any case, numbers.

use super::*;

const UPPER: &str = "6F1C4D1E-8F5B-4C7E-9D0A-2B3C4D5E6F70";

fn lower() -> String {
    UPPER.to_lowercase()
}

fn notification(method: &str, params: Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// The hash of a job as a foreign program writes it, and its id in the queue.
async fn push(house: &House, id: &str, more: &[&str]) {
    let key = format!("hero:job:{id}");
    let words = ["HSET", &key, "id", id, "script", "40 + 2", "timeout", "60", "status", "dispatched"];
    let _: i64 = house.redis.run(&[&words[..], more].concat()).await;
    let _: i64 = house.redis.run(&["LPUSH", "hero:q:work:type:osis", id]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_created_started_run_and_stopped_by_notifications() {
    let (_house, server, client) = open(1).await;
    let id = json!(lower());
    client.send(notification("create_job", json!({"script": "40 + 2", "job_id": id})));
    until("it is created", || async { client.call("get_status", json!([id])).await.ok() }).await;
    client.send(notification("start_job", json!([id])));
    assert_eq!(client.ok("wait_job", json!([id])).await["value"], 42);
    // Over HTTP it has been carried out when the answer comes.
    assert_eq!(server.post(&notification("delete_job", json!([id]))).await, (200, String::new()));
    assert_eq!(client.fault("get_status", json!([id])).await.code, 1001);
    let both = [("create_job", json!({"script": "1", "job_id": id})), ("ping", json!([]))];
    let batch = both.map(|(method, params)| notification(method, params)).join(",");
    assert_eq!(server.post(&format!("[{batch}]")).await, (200, String::new()));
    assert_eq!(client.ok("get_status", json!([id])).await, "created");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_notification_to_run_and_wait_starts_its_job_and_waits_for_nothing() {
    let (_house, server, client) = open(1).await;
    let job = json!({"script": "loop {}", "job_id": lower(), "idempotency_key": "once"});
    for _ in 0..2 {
        assert_eq!(server.post(&notification("run_and_wait", job.clone())).await, (200, String::new()));
    }
    is(&client, &json!(lower()), "started").await;
    assert_eq!(server.post(&notification("wait_job", json!([lower()]))).await, (200, String::new()));
    assert_eq!(server.post(&notification("stop_job", json!([lower()]))).await, (200, String::new()));
    is(&client, &json!(lower()), "error").await;
    let job = client.ok("get_job", json!([lower()])).await;
    assert_eq!(job["error"]["message"], "stopped_by_request");
}

/// Null, or for an object that is described an object whose members all are.
fn null_of(document: &Value, schema: &Value) -> Value {
    let reference = schema.get("$ref").or_else(|| schema["allOf"][0].get("$ref")).and_then(Value::as_str);
    let component = reference.and_then(|path| document.pointer(path.trim_start_matches('#')));
    match component.and_then(|component| component["properties"].as_object()) {
        Some(members) => members.keys().map(|name| (name.clone(), Value::Null)).collect::<serde_json::Map<_, _>>().into(),
        None => Value::Null,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn null_is_not_given_for_every_parameter_of_every_method_and_in_every_object_that_is_one() {
    let (_house, _server, client) = open(1).await;
    let document: Value = serde_json::from_str(include_str!("../../../openrpc.json")).unwrap();
    for method in document["methods"].as_array().unwrap() {
        let (name, example) = (method["name"].as_str().unwrap(), &method["examples"][0]["params"]);
        let given = |name: &Value| example.as_array()?.iter().find(|given| given["name"] == *name).map(|given| given["value"].clone());
        let needed = method["params"].as_array().unwrap().iter().filter(|param| param["required"] == true);
        if needed.clone().any(|param| given(&param["name"]).is_none()) {
            continue; // What ends a subscription names one that a test has begun.
        }
        for nested in [false, true] {
            let param = |param: &Value| {
                let null = if nested { null_of(&document, &param["schema"]) } else { Value::Null };
                let needed = param["required"] == true;
                let value = if needed { given(&param["name"]).unwrap() } else { null };
                (param["name"].as_str().unwrap().to_owned(), value)
            };
            let params: serde_json::Map<_, _> = method["params"].as_array().unwrap().iter().map(param).collect();
            if let Err(fault) = client.call(name, params.clone().into()).await {
                // A schedule needs one of two that are not needed, and so does a message.
                let is_incomplete = name == "create_schedule" && fault.message.contains("cron")
                    || name == "send_message" && fault.message.contains("address");
                assert!(fault.code != -32602 || is_incomplete, "{name} {params:?}: {fault:?}");
            }
        }
    }
    let mut job = null_of(&document, &json!({"$ref": "#/components/schemas/JobSpec"}));
    assert!(job.as_object().unwrap().len() > 20);
    job["script"] = "args".into();
    let ids = client.ok("create_jobs", json!({"jobs": [job, job]})).await;
    client.ok("create_schedule", json!({"job": job, "every": 60, "cron": null, "overlap": null, "missed": null})).await;
    job["args"] = json!({"kept": null});
    let id = create(&client, job).await;
    assert_eq!(client.ok("get_job", json!([id])).await["args"], json!({"kept": null}), "free JSON keeps its nulls");
    assert_eq!(client.ok("get_job", json!([ids[0]])).await["priority"], 1);
}

/// A list where the document has an object, and where an error says that it is; nothing where it has none.
fn list_for_object(document: &Value, schema: &Value, place: &str) -> Option<(Value, String)> {
    if schema["type"] == "array" {
        let (item, place) = list_for_object(document, &schema["items"], &format!("{place}[0]"))?;
        return Some((json!([item]), place));
    }
    let component = schema["$ref"].as_str().and_then(|path| document.pointer(path.trim_start_matches('#')));
    (component.unwrap_or(schema)["type"] == "object").then(|| (json!([]), place.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_refused_by_its_place_wherever_a_method_takes_an_object() {
    let (_house, _server, client) = open(0).await;
    let document: Value = serde_json::from_str(include_str!("../../../openrpc.json")).unwrap();
    let mut refused = Vec::new();
    for method in document["methods"].as_array().unwrap() {
        let (name, example) = (method["name"].as_str().unwrap(), method["examples"][0]["params"].as_array());
        let needed = |param: &&Value| {
            method["params"].as_array().unwrap().iter().any(|known| known["name"] == param["name"] && known["required"] == true)
        };
        let needed = example.into_iter().flatten().filter(needed);
        let needed: serde_json::Map<_, _> =
            needed.map(|param| (param["name"].as_str().unwrap().to_owned(), param["value"].clone())).collect();
        for param in method["params"].as_array().unwrap() {
            let param_name = param["name"].as_str().unwrap();
            let Some((list, place)) = list_for_object(&document, &param["schema"], param_name) else { continue };
            let mut params = needed.clone();
            params.insert(param_name.to_owned(), list);
            let fault = client.fault(name, params.into()).await;
            assert!(
                fault.code == -32602 && fault.message.starts_with(&format!("parameter `{place}`: expected an object, but got an array")),
                "{name} {fault:?}"
            );
            refused.push(format!("{name} {place}"));
        }
    }
    for known in ["list_jobs filter", "subscribe_events filter", "create_jobs jobs[0]", "create_schedule job", "create_job labels"] {
        assert!(refused.iter().any(|refused| refused == known), "{refused:?}");
    }
    // And in what is inside.
    for (method, params, place) in [
        ("list_jobs", json!({"filter": {"labels": []}}), "filter.labels"),
        ("create_jobs", json!([[{"script": "1"}, {"script": "1", "env_vars": [["a", "b"]]}]]), "jobs[1].env_vars"),
        ("create_schedule", json!([{"script": "1", "labels": []}]), "job.labels"),
        ("create_jobs", json!([[["1", "osis"]]]), "jobs[0]"),
        ("list_jobs", json!([["created"]]), "filter"),
    ] {
        let fault = client.fault(method, params).await;
        assert!(
            fault.code == -32602 && fault.message.starts_with(&format!("parameter `{place}`: expected an object, but got an array")),
            "{fault:?}"
        );
    }
    // Whole calls may be by position.
    create(&client, json!(["1", "osis"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_in_any_case_is_one_job_and_answered_in_lower_case() {
    let (house, _server, client) = open(1).await;
    assert_eq!(create(&client, json!({"script": "print(1); 40 + 2", "job_id": UPPER})).await, lower());
    for again in [UPPER, &lower(), "6f1c4D1E-8f5b-4c7e-9d0a-2b3c4d5e6F70"] {
        assert_eq!(client.fault("create_job", json!({"script": "2", "job_id": again})).await.code, 1002);
    }
    let keys: Vec<String> = house.redis.run(&["KEYS", "hero:job:*"]).await;
    assert_eq!(keys, [format!("hero:job:{}", lower())]);
    client.ok("delete_job", json!([UPPER])).await;
    let document: Value = serde_json::from_str(include_str!("../../../openrpc.json")).unwrap();
    let is_of_a_job = |param: &Value| param["name"] == "job_id" && param["required"] == true;
    let methods = document["methods"].as_array().unwrap().iter();
    let of_a_job = methods.filter(|method| method["params"].as_array().unwrap().iter().any(is_of_a_job));
    for method in of_a_job.map(|method| method["name"].as_str().unwrap()) {
        client.ok("run_and_wait", json!({"script": "print(1); 40 + 2", "job_id": lower()})).await;
        let answer = match method.starts_with("subscribe_") {
            true => Ok(json!(client.subscribe(method, json!([UPPER])).await.unwrap().rest().await)),
            false => client.call(method, json!([UPPER])).await,
        };
        // Some refuse a job that has ended.
        let is_found = answer.as_ref().map_or_else(|error| error.code == 1002, |answer| *answer != json!([]));
        assert!(is_found && !format!("{answer:?}").contains(UPPER), "{method}: {answer:?}");
        let _ = client.call("wait_job", json!([lower()])).await;
        let _ = client.call("delete_job", json!([lower()])).await;
    }
    let gone = client.fault("get_status", json!([UPPER])).await;
    assert!(gone.code == 1001 && gone.message.contains(&lower()), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn relations_and_schedules_are_named_in_any_case() {
    let (_house, _server, client) = open(1).await;
    let other = "ABCDEF00-8F5B-4C7E-9D0A-2B3C4D5E6F70";
    let jobs = json!([
        {"script": "1", "job_id": UPPER},
        {"script": "2", "job_id": other, "prerequisites": [lower(), UPPER], "parent_id": UPPER},
    ]);
    assert_eq!(client.ok("create_jobs", json!([jobs])).await, json!([lower(), other.to_lowercase()]));
    let third = create(&client, json!({"script": "3", "dependents": [other]})).await;
    let continuation = create(&client, json!({"script": "4", "predecessor_id": UPPER})).await;
    let job = client.ok("get_job", json!([other])).await;
    assert_eq!((&job["prerequisites"], &job["parent_id"]), (&json!([lower(), third]), &json!(lower())));
    assert_eq!(client.ok("get_job", json!([continuation])).await["predecessor_id"], lower());

    let schedule = json!({"job": {"script": "1"}, "every": 3600, "schedule_id": UPPER});
    assert_eq!(client.ok("create_schedule", schedule.clone()).await["schedule_id"], lower());
    assert_eq!(client.fault("create_schedule", schedule).await.code, 1002);
    assert_eq!(client.ok("delete_schedule", json!([UPPER])).await, true);
    assert_eq!(client.fault("delete_schedule", json!([UPPER])).await.code, 1011);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_a_foreign_program_wrote_in_upper_case_is_found_as_it_was_written() {
    let (house, _server, client) = open(1).await;
    push(&house, UPPER, &[]).await;
    let result = client.ok("wait_job", json!([UPPER])).await;
    assert_eq!((&result["job_id"], &result["value"]), (&json!(UPPER), &json!(42)));
    assert_eq!(client.fault("get_status", json!([lower()])).await.code, 1001);
    assert_eq!(client.fault("create_job", json!({"script": "1", "job_id": UPPER})).await.code, 1002);
    // One of ours is preferred.
    create(&client, json!({"script": "1", "job_id": lower()})).await;
    assert_eq!(client.ok("get_status", json!([UPPER])).await, "created");
}

#[tokio::test(flavor = "multi_thread")]
async fn integers_that_would_be_rounded_are_refused_by_the_name_of_their_parameter() {
    let (house, server, client) = open(1).await;
    let post = async |method: &str, params: &str| -> Value {
        let (_, answer) = server.post(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)).await;
        serde_json::from_str(&answer).unwrap()
    };
    for (method, params, name) in [
        ("create_job", r#"{"script":"1","args":{"n":9223372036854775808}}"#, "args.n"),
        ("run_and_wait", r#"["1",null,[-9223372036854775809]]"#, "args[0]"),
        ("create_jobs", r#"{"jobs":[{"script":"1","args":18446744073709551616}]}"#, "jobs[0].args"),
        ("create_schedule", r#"{"every":60,"job":{"script":"1","args":123456789012345678901234567890}}"#, "job.args"),
        ("create_job", r#"{"script":"1","timeout":100000000000000000000}"#, "timeout"),
        ("create_job", r#"{"script":"1","priority":1.0}"#, "priority"),
        ("create_job", r#"{"script":"1","retries":1.5}"#, "retries"),
        ("create_job", r#"{"script":"1","instance":1e0}"#, "instance"),
        ("list_jobs", r#"{"limit":9.9}"#, "limit"),
    ] {
        let error = post(method, params).await["error"].take();
        let message = error["message"].as_str().unwrap();
        assert!(error["code"] == -32602 && message.starts_with(&format!("parameter `{name}`: ")), "{params}: {error}");
    }
    for number in ["9223372036854775807", "-9223372036854775808", "1e300", "18446744073709551616.0", "\"18446744073709551616\""] {
        let result = post("run_and_wait", &format!(r#"{{"script":"args","args":[{number}]}}"#)).await["result"].take();
        let expected: Value = serde_json::from_str(&format!("[{number}]")).unwrap();
        assert_eq!(result["value"], expected, "{number}");
    }
    // Each as a script says it, written by us and by a foreign program.
    let numbers = "[-0,0,-0.0,0.0,1e2,1E+2,1.5e-3,0.1,9223372036854775807,-9223372036854775808,9223372036854775808.0,1e-400]";
    let kinds = "args.map(|number| `${type_of(number)} ${number}`)";
    let expected = json!([
        "i64 0",
        "i64 0",
        "f64 0.0",
        "f64 0.0",
        "f64 100.0",
        "f64 100.0",
        "f64 0.0015",
        "f64 0.1",
        "i64 9223372036854775807",
        "i64 -9223372036854775808",
        "f64 9.223372036854776e18",
        "f64 0.0"
    ]);
    assert_eq!(post("run_and_wait", &format!(r#"{{"script":"{kinds}","args":{numbers}}}"#)).await["result"]["value"], expected);
    assert_eq!(post("run_and_wait", &format!(r#"["{kinds}",null,{numbers}]"#)).await["result"]["value"], expected);
    let other = "abcdef00-8f5b-4c7e-9d0a-2b3c4d5e6f70";
    push(&house, other, &["args", numbers, "script", kinds]).await;
    assert_eq!(client.ok("wait_job", json!([other])).await["value"], expected);
    let zero = post("run_and_wait", r#"["args", null, -0.0]"#).await["result"]["value"].as_f64().unwrap();
    assert!(zero == 0.0 && zero.is_sign_negative(), "{zero}");
    let parsed = post("run_and_wait", r#"["let n = parse_json(`[-0, -0.0]`); [type_of(n[0]), type_of(n[1])]"]"#).await;
    assert_eq!(parsed["result"]["value"], json!(["i64", "f64"]));
    let error = post("create_job", r#"{"script":"1","args":[1E400]}"#).await["error"].take();
    assert!(error["code"] == -32602 && error["message"].as_str().unwrap().starts_with("parameter `args`: number out of range"), "{error}");
    // A foreign program is told by the error of its job.
    push(&house, &lower(), &["args", r#"{"n":18446744073709551616}"#]).await;
    let fault = client.fault("wait_job", json!([lower()])).await;
    assert!(fault.code == 1101 && fault.message.contains("18446744073709551616"), "{fault:?}");
}
