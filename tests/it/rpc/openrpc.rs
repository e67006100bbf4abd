//! `openrpc.json` is true: its examples can be replayed, and its schemas fit what a server answers.

use std::collections::BTreeSet;

use jsonschema::Validator;

use super::*;
use crate::support::Redis;

struct Document(Value);

impl Document {
    fn committed() -> Self {
        Self(serde_json::from_str(include_str!("../../../openrpc.json")).unwrap())
    }

    fn methods(&self) -> impl Iterator<Item = &Value> {
        self.0["methods"].as_array().unwrap().iter()
    }

    fn method(&self, name: &str) -> &Value {
        self.methods().find(|method| method["name"] == name).unwrap()
    }

    fn validator(&self, schema: &Value) -> Validator {
        let mut root = schema.clone();
        root["components"] = self.0["components"].clone();
        jsonschema::options().with_draft(jsonschema::Draft::Draft7).build(&root).unwrap()
    }

    /// That `value` is what `schema` says.
    fn check(&self, what: &str, schema: &Value, value: &Value) {
        let errors: Vec<String> =
            self.validator(schema).iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{what} gave {value}: {errors:?}");
    }
}

/// The public key and the token of the examples.
const KEY: &str =
    "0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8";
const TOKEN: &str = "5f0c2b8e9a417d36";

/// Makes an example true: brings the job it names into the state it speaks of.
async fn prepare(redis: &Redis, client: &Client, method: &str) {
    const ID: &str = "6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70";
    const SCHEDULE: &str = "9b2e6f0a-3c1d-4e5f-8a7b-6c5d4e3f2a10";
    if ["list_schedules", "delete_schedule"].contains(&method) {
        for schedule in client.ok("list_schedules", json!([])).await["schedules"].as_array().unwrap() {
            client.ok("delete_schedule", json!([schedule["schedule_id"]])).await;
        }
        let spec = json!({"job": {"script": "1"}, "cron": "0 9 * * MON-FRI", "time_zone": "Europe/Berlin", "schedule_id": SCHEDULE});
        client.ok("create_schedule", spec).await;
    }
    if method.ends_with("_object") || method.ends_with("_objects") || method.ends_with("_collection") || method.ends_with("_collections") {
        client.ok("drop_collection", json!(["people"])).await;
        if method == "list_collections" {
            client.ok("run_and_wait", json!(["osis::index(\"people\", [\"born\"])"])).await;
        }
        client.ok("set_object", json!(["people", {"id": "ada", "name": "Ada Lovelace", "born": 1815}])).await;
    }
    if ["identity", "token", "grant", "revoke", "rights", "authenticate"].iter().any(|word| method.contains(word)) {
        // Numbers are not given twice, so the identity of the examples is written as other programs write one.
        let _: i64 = redis.run(&["DEL", "hero:access:pubkeys"]).await;
        let fields = ["id", "1", "pubkey", KEY, "address", "[\"3bb:2f3e::1\"]", "created_at", "1", "updated_at", "1"];
        let _: i64 = redis.run(&[&["HSET", "actor:1"][..], &fields].concat()).await;
        if method == "authenticate" {
            let _: i64 = redis.run(&["HSET", "hero:access:pubkeys", KEY, "1"]).await;
        }
        let token = json!({"token_id": TOKEN, "identity_id": 1, "created_at": "2026-11-23T00:00:00Z", "digest": TOKEN});
        let _: i64 = redis.run(&["HSET", "hero:access:tokens", TOKEN, &token.to_string()]).await;
    }
    if method.contains("flow") {
        // Numbers are not given twice, so the last one is forgotten.
        for flow in client.ok("list_flows", json!({})).await["flows"].as_array().unwrap() {
            let _ = client.call("stop_flow", json!([flow["flow_id"]])).await;
            let _ = client.call("wait_flow", json!([flow["flow_id"]])).await;
            client.ok("delete_flow", json!([flow["flow_id"]])).await;
        }
        let _: i64 = redis.run(&["DEL", "hero:seq:flow"]).await;
        let jobs = match method {
            "create_flow" | "run_flow_and_wait" => json!({}),
            // One that fails, or waits for an actor that there is not.
            "retry_flow" => json!({"a": {"script": "throw 1"}}),
            "stop_flow" => json!({"a": {"script": "1", "script_type": "sal"}}),
            _ => json!({"build": {"script": "40 + 2"}, "tell": {"script": "`the answer is ${inputs.build}`", "depends_on": ["build"]}}),
        };
        if jobs != json!({}) {
            assert_eq!(client.ok("create_flow", json!({"jobs": jobs, "name": "answer"})).await, 1);
        }
        if ["wait_flow", "get_flow", "list_flows", "delete_flow", "stop_flow", "retry_flow", "subscribe_flow"].contains(&method) {
            client.ok("start_flow", json!([1])).await;
        }
        if !["create_flow", "run_flow_and_wait", "start_flow", "stop_flow"].contains(&method) {
            let _ = client.call("wait_flow", json!([1])).await;
        }
    }
    if method.contains("runner") {
        let fields = ["id", "1", "local", "false", "address", "node:berlin", "type", "osis", "created_at", "1", "updated_at", "1"];
        let _: i64 = redis.run(&[&["HSET", "runner:1"][..], &fields].concat()).await;
        let _: i64 = redis.run(&["ZADD", "hero:meta:runners", "1", "1"]).await;
    }
    if method == "delete_context" {
        // Numbers are not given twice, so the context of the example is listed as if another server had made it.
        let _: i64 = redis.run(&["ZADD", "hero:access:contexts", "1", "5"]).await;
        let _: i64 = redis.run(&["HINCRBY", "hero:meta:access", "revision", "1"]).await;
        let _: () = redis.run_in(5, &["FLUSHDB"]).await;
        client.ok("update_context", json!({})).await;
    }
    if method.contains("message") {
        let fields = ["id", "101", "caller_id", "12", "message", "hello", "address", "node:berlin", "status", "dispatched"];
        let _: i64 = redis.run(&[&["HSET", "message:12:101"][..], &fields].concat()).await;
        let _: i64 = redis.run(&["DEL", "msg_in"]).await;
        let _: i64 = redis.run(&["LPUSH", "msg_in", "message:12:101"]).await;
    }
    // That of the example before.
    let _ = client.call("delete_job", json!([ID])).await;
    // No actor takes jobs of sal here, so they stay queued.
    let script_type = if ["start_job", "stop_job", "retry_job", "explain_job"].contains(&method) { "sal" } else { "osis" };
    create(client, json!({"script": "print(\"hello\"); 40 + 2", "job_id": ID, "script_type": script_type})).await;
    match method {
        // An example that creates a job lets it have an id of its own.
        "start_job" | "delete_job" | "create_job" | "create_jobs" | "run_and_wait" => {}
        "stop_job" | "explain_job" => assert_eq!(client.ok("start_job", json!([ID])).await, "dispatched"),
        "retry_job" => assert_eq!(client.ok("stop_job", json!([ID])).await, "error"),
        _ => {
            client.ok("start_job", json!([ID])).await;
            client.ok("wait_job", json!([ID])).await;
        }
    }
}

/// Texts and numbers that the example and the answer must agree in.
fn agree(method: &str, expected: &Value, answer: &Value) {
    match method {
        "create_job" => assert!(answer.is_string()),
        "create_jobs" => assert_eq!(answer.as_array().unwrap().len(), expected.as_array().unwrap().len()),
        "start_job" | "retry_job" | "explain_job" | "get_status" | "stop_job" | "delete_job" | "pause_queue" | "resume_queue"
        | "drain_server" | "ping" => {
            assert_eq!(answer, expected, "{method}")
        }
        "run_and_wait" | "wait_job" | "get_result" => {
            for field in ["status", "output", "value", "attempt"] {
                assert_eq!(answer[field], expected[field], "{method}: {field}");
            }
            assert!(answer["usage"]["operations"].is_u64() && answer["started_at"].is_string() && answer["finished_at"].is_string());
        }
        "get_job" => assert_eq!((&answer["job_id"], &answer["status"]), (&expected["job_id"], &expected["status"])),
        "get_logs" => assert_eq!((&answer["lines"][0]["text"], &answer["ended"]), (&expected["lines"][0]["text"], &expected["ended"])),
        "list_jobs" => assert_eq!(answer["jobs"][0]["status"], expected["jobs"][0]["status"]),
        "delete_schedule" => assert_eq!(answer, expected),
        "create_schedule" | "list_schedules" => {
            let of = |page: &Value| if method == "create_schedule" { page.clone() } else { page["schedules"][0].clone() };
            let (answer, expected) = (of(answer), of(expected));
            for field in ["cron", "every", "time_zone", "overlap", "missed", "missed_limit", "runs"] {
                assert_eq!(answer[field], expected[field], "{method}: {field}");
            }
            assert_eq!(answer["next_runs"].as_array().unwrap().len(), 5);
        }
        "set_object" | "get_object" | "find_objects" | "delete_object" | "list_collections" | "drop_collection" => {
            assert_eq!(answer, expected, "{method}")
        }
        "create_identity" | "update_identity" | "get_identity" => {
            assert_eq!((&answer["pubkey"], &answer["address"]), (&expected["pubkey"], &expected["address"]), "{method}");
        }
        "list_identities" => assert!(answer["identities"].is_array()),
        "whoami" | "delete_identity" | "revoke_token" => assert_eq!(answer, expected, "{method}"),
        "create_token" => assert!(answer["name"] == expected["name"] && answer["secret"].as_str().unwrap().starts_with("hero_")),
        "fetch_nonce" => assert!(answer.as_str().unwrap().starts_with("hero:127.0.0.1:")),
        "authenticate" => assert!(answer["identity_id"] == 1 && answer["token"].as_str().unwrap().starts_with("hero_")),
        "list_tokens" => assert!(answer.as_array().unwrap().iter().all(|token| token["identity_id"] == 1)),
        "create_runner" | "update_runner" | "get_runner" => {
            for field in ["script_type", "local", "address"] {
                assert_eq!(answer[field], expected[field], "{method}: {field}");
            }
        }
        "create_flow" | "delete_flow" | "retry_flow" | "start_flow" | "stop_flow" => assert_eq!(answer, expected, "{method}"),
        "run_flow_and_wait" | "wait_flow" | "get_flow" => {
            for field in ["flow_id", "status", "name", "result", "on_failure"] {
                assert_eq!(answer[field], expected[field], "{method}: {field}");
            }
            assert_eq!(answer["jobs"][1]["depends_on"], expected["jobs"][1]["depends_on"]);
        }
        "list_flows" => assert_eq!((&answer["flows"][0]["status"], &answer["flows"][0]["jobs"]), (&json!("finished"), &json!(2))),
        "list_runners" => assert!(answer["runners"].as_array().unwrap().iter().all(|runner| runner["script_type"] == "osis")),
        "send_message" | "get_message" | "acknowledge_message" => {
            for field in ["message", "message_type", "address", "status"] {
                assert_eq!(answer[field], expected[field], "{method}: {field}");
            }
        }
        "ping_node" => assert_eq!(answer["route"], expected["route"]),
        "list_messages" => assert_eq!(answer["messages"][0]["message"], expected["messages"][0]["message"]),
        "delete_message" => assert_eq!(answer, expected),
        "delete_runner" => assert_eq!(answer, expected),
        "create_context" => assert!(answer["name"] == expected["name"] && answer["limits"] == expected["limits"], "{answer}"),
        "update_context" | "get_context" => assert!(answer["context_id"] == 0 && answer["status"] == "active", "{answer}"),
        "list_contexts" => assert_eq!(answer["contexts"][0]["context_id"], 0),
        "delete_context" => assert_eq!(answer, expected),
        "get_rights" | "grant" | "revoke" => assert!(answer["context_id"] == 0 && answer["admins"] == expected["admins"]),
        "list_actors" => assert_eq!(answer[0]["script_type"], expected[0]["script_type"]),
        "list_functions" => assert!(answer.as_array().unwrap().contains(&expected[0])),
        "list_queues" => assert_eq!((&answer[0]["name"], &answer[0]["depth"]), (&expected[0]["name"], &expected[0]["depth"])),
        "server_info" => assert_eq!((&answer["name"], &answer["version"]), (&expected["name"], &expected["version"])),
        _ => panic!("no example of {method} is known here"),
    }
}

/// The parameters of a login by a nonce that this server gave: that of the example is another one's.
async fn signed(client: &Client, mut params: Value) -> Value {
    let key: hero::model::PrivateKey = format!("{:064x}", 1).parse().unwrap();
    let nonce = client.ok("fetch_nonce", json!([KEY])).await;
    let signature = json!(key.sign(nonce.as_str().unwrap()));
    if params.is_array() {
        (params[1], params[2]) = (signature, nonce);
    } else {
        (params["signature"], params["nonce"]) = (signature, nonce);
    }
    params
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_can_be_replayed_by_name_and_by_position() {
    let (house, _server, client) = open(1).await;
    let document = Document::committed();
    for method in document.methods() {
        let name = method["name"].as_str().unwrap();
        let examples = method["examples"].as_array().unwrap();
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            let given = example["params"].as_array().unwrap();
            let said = given.iter().filter(|given| !given["value"].is_null());
            let by_name: Value = said.map(|given| (given["name"].as_str().unwrap().to_owned(), given["value"].clone())).collect();
            // As tools send it: the values as they stand.
            let by_position: Value = given.iter().map(|given| given["value"].clone()).collect();
            for params in [by_name, by_position] {
                if name.starts_with("unsubscribe_") {
                    continue; // The id of an example is nobody's. The real ones are used below.
                }
                prepare(&house.redis, &client, name).await;
                let params = if name == "authenticate" { signed(&client, params).await } else { params };
                let Some(subscription) = method.get("x-subscription") else {
                    let answer = client.ok(name, params).await;
                    document.check(name, &method["result"]["schema"], &answer);
                    agree(name, &example["result"]["value"], &answer);
                    continue;
                };
                let mut items = client.subscribe(name, params).await.unwrap();
                if name == "subscribe_events" {
                    client.ok("run_and_wait", json!(["1"])).await;
                }
                let item = items.next().await;
                let schema = &subscription["notification"]["params"][1]["schema"];
                document.check(name, schema, &item);
                let expected = &subscription["notification"]["examples"][0]["result"];
                for field in ["type", "status", "text", "level"] {
                    assert_eq!(item.get(field), expected.get(field), "{name}: {field}");
                }
                let unsubscribe = document.method(subscription["unsubscribe"].as_str().unwrap());
                let answer = client.ok(unsubscribe["name"].as_str().unwrap(), json!([items.id])).await;
                document.check("an unsubscription", &unsubscribe["result"]["schema"], &answer);
                // The others may have ended by themselves, as the job has.
                assert!(answer == unsubscribe["examples"][0]["result"]["value"] || name != "subscribe_events", "{name}: {answer}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_those_that_the_document_lists() {
    let (_house, _server, client) = open(0).await;
    let document = Document::committed();
    for method in document.methods() {
        let name = method["name"].as_str().unwrap();
        if name.starts_with("unsubscribe_") {
            continue; // They have their place among the subscriptions.
        }
        let takes_job = method["params"][0]["name"] == "job_id";
        let errors = method["errors"].as_array().unwrap().iter().map(|error| match error.get("$ref").and_then(Value::as_str) {
            Some(target) => &document.0["components"]["errors"][target.rsplit('/').next().unwrap()],
            None => error,
        });
        let codes: BTreeSet<i64> = errors.map(|error| error["code"].as_i64().unwrap()).collect();
        let ask = async |params: Value| match method.get("x-subscription") {
            Some(_) => client.subscribe(name, params).await.map(drop),
            None => client.call(name, params).await.map(drop),
        };
        let fault = ask(json!({"nonsense": 1})).await.unwrap_err();
        assert_eq!(fault.code, -32602, "{name}: {fault:?}");
        assert!(codes.contains(&-32602) && fault.message.contains("`nonsense`"), "{name}: {fault:?}");
        if takes_job {
            let fault = ask(json!([NOBODY])).await.unwrap_err();
            assert_eq!((fault.code, &fault.data), (1001, &json!({"job_id": NOBODY})), "{name}");
            assert!(codes.contains(&1001), "{name}");
        }
        if method["params"].as_array().unwrap().iter().any(|param| param["name"] == "context_id") {
            let first = if takes_job { json!({"job_id": NOBODY, "context_id": 7}) } else { json!({"context_id": 7}) };
            let params = match method["params"][0]["name"].as_str() {
                Some("script") => json!({"script": "1", "context_id": 7}),
                Some("script_type") => json!({"script_type": "osis", "context_id": 7}),
                Some("collection") if name == "set_object" => json!({"collection": "people", "object": {}, "context_id": 7}),
                Some("collection") if name.ends_with("_object") => json!({"collection": "people", "id": "ada", "context_id": 7}),
                Some("collection") => json!({"collection": "people", "context_id": 7}),
                Some("jobs") if name != "create_jobs" => json!({"jobs": {"a": {"script": "1"}}, "context_id": 7}),
                Some("flow_id") => json!({"flow_id": 1, "context_id": 7}),
                Some("schedule_id") => json!({"schedule_id": NOBODY, "context_id": 7}),
                Some("caller_id") => json!({"caller_id": 12, "message_id": 101, "context_id": 7}),
                Some("message" | "address") => json!({"address": "here", "context_id": 7}),
                Some("runner_id") => json!({"runner_id": 1, "context_id": 7}),
                Some("identity_id") => json!({"identity_id": 1, "role": "reader", "context_id": 7}),
                _ => first,
            };
            let fault = ask(params).await.unwrap_err();
            assert_eq!(fault.code, 1011, "{name}: {fault:?}");
            assert!(codes.contains(&1011) && fault.message.contains("context 7"), "{name}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_gives_the_committed_file_with_the_address_it_is_served_from() {
    let (_house, server, client) = open(0).await;
    let at = |host: &str| include_str!("../../../openrpc.json").replace("//127.0.0.1:8700/", &format!("//{host}/"));
    for host in [server.address.to_string(), "localhost:1".into(), "[::1]".into()] {
        let committed = at(&host);
        assert!(committed.contains(&format!(r#""url": "http://{host}/""#)) && committed.contains(&format!(r#""url": "ws://{host}/""#)));
        assert_eq!(server.get_at(&host, "/openrpc.json").await, (200, committed.clone()));
        let (status, answer) = server.post_at(&host, r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#).await;
        assert!(status == 200 && answer.contains(committed.trim_end()), "{answer}");
    }
    let served: Value = serde_json::from_str(&at(&server.address.to_string())).unwrap();
    assert_eq!(client.ok("rpc.discover", Value::Null).await, served);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_looks_like_in_every_state_fits_its_schema() {
    let (house, _server, client) = open(1).await;
    let document = Document::committed();
    let spec = json!({
        "script": "print(args.n); if args.n == 1 { throw \"no\" } args.n",
        "args": {"n": 2}, "group": "default", "instance": 1, "priority": 0, "timeout": 1.5, "retries": 1, "retry_backoff": 0.01,
        "env_vars": {"A": "secret"}, "log_path": "a.log", "idempotency_key": "k", "retention": 60, "name": "n", "labels": {"a": "b"},
        "worker_id": "w", "client_rpc_id": "c",
    });
    let schema = &document.method("get_job")["result"]["schema"];
    let finished = client.ok("run_and_wait", spec.clone()).await["job_id"].clone();
    let job = client.ok("get_job", json!([finished])).await;
    document.check("get_job", schema, &job);
    assert_eq!((&job["args"], &job["env_vars"], &job["timeout"]), (&json!({"n": 2}), &json!({"A": "***"}), &json!(1.5)));
    assert_eq!(
        (&job["output"], &job["name"], &job["labels"], &job["client_rpc_id"]),
        (&json!("2"), &json!("n"), &json!({"a": "b"}), &json!("c"))
    );
    assert_eq!(
        (&job["actor"], &job["priority"], &job["retries"], &job["worker_id"]),
        (&json!("osis:default:1"), &json!(0), &json!(1), &json!("w"))
    );
    let failed = start(&client, json!({"script": "fn f() { throw \"no\" } f()"})).await;
    is(&client, &failed, "error").await;
    let scheduled = start(&client, json!({"script": "1", "run_at": "2999-01-01T00:00:00+01:00"})).await;
    let created = create(&client, json!(["1"])).await;
    let running = start(&client, json!(["loop {}"])).await;
    is(&client, &running, "started").await;
    let queued = start(&client, json!(["1"])).await;
    for (id, status) in
        [(&failed, "error"), (&scheduled, "scheduled"), (&created, "created"), (&running, "started"), (&queued, "dispatched")]
    {
        let job = client.ok("get_job", json!([id])).await;
        assert_eq!(job["status"], status);
        document.check("get_job", schema, &job);
    }
    document.check("list_jobs", &document.method("list_jobs")["result"]["schema"], &client.ok("list_jobs", json!({})).await);
    document.check("list_queues", &document.method("list_queues")["result"]["schema"], &client.ok("list_queues", json!([])).await);
    client.ok("stop_job", json!([running])).await;
    house.close().await;
}
