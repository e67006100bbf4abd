//! `openrpc.json` is correct: its examples can be replayed, and its schemas match the answers of a server.

use std::collections::BTreeSet;

use jsonschema::Validator;

use super::*;
use crate::support::{Example, Made, PATIENCE, Process, examples};

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

    /// Asserts that `value` matches `schema`.
    fn check(&self, what: &str, schema: &Value, value: &Value) {
        let errors: Vec<String> =
            self.validator(schema).iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert!(errors.is_empty(), "{what} gave {value}: {errors:?}");
    }
}

/// Returns a value that consists of `text` for a parameter that takes any texts: one, a list, or a map.
fn any_texts(text: &str, schema: &Value) -> Option<Value> {
    let takes_any = |schema: &Value| schema["type"] == "string" && schema.get("format").or(schema.get("pattern")).is_none();
    match schema {
        schema if takes_any(schema) => Some(json!(text)),
        schema if takes_any(&schema["items"]) => Some(json!([text])),
        schema if takes_any(&schema["additionalProperties"]) => Some(json!({text: text})),
        _ => None,
    }
}

/// Asks again until the answer is right.
async fn asked_until(difference: &str, mut ask: impl AsyncFnMut() -> Result<Value, String>) -> Value {
    let asking = async {
        loop {
            if let Ok(answer) = ask().await {
                return answer;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("{difference}"))
}

/// Calls all examples on a fresh server, in the order of the document.
async fn tell(params: impl Fn(&Example, &mut Made) -> Value) {
    let home = tempfile::tempdir().unwrap();
    let server = Process::serve(&home.path().join("data"), &[]).await;
    let (client, document) = (Client::connect(&server.url()).await, Document::committed());
    let (mut made, mut begun) = (Made::default(), None);
    for example in examples() {
        let (name, params) = (example.method.as_str(), params(&example, &mut made));
        if let Some(item) = &example.item {
            let mut items = client.subscribe(name, params).await.unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
            made.learn(&example.result, &items.id);
            loop {
                let sent = items.next().await;
                document.check(name, &example.schema, &sent);
                assert!(sent["type"] != "ended", "{name} has sent nothing as {item}");
                if made.agree(name, item, &sent).is_ok() {
                    break;
                }
            }
            begun = Some(items);
            continue;
        }
        if name.starts_with("unsubscribe_") {
            let answer = client.ok(name, params).await;
            document.check(name, &example.schema, &answer);
            // It may have ended by itself, as what it followed has.
            let mut items = begun.take().expect("it was begun just before");
            while answer != example.result && items.next().await != json!({"type": "ended"}) {}
            continue;
        }
        let mut ask = async || {
            let answer = client.call(name, params.clone()).await.map_err(|fault| format!("{name} {params}: {fault:?}"))?;
            made.agree(name, &example.result, &answer).map(|()| answer)
        };
        let answer = match ask().await {
            // What the server does in the background may not be done yet.
            Err(difference) if example.reads() => asked_until(&difference, ask).await,
            answer => answer.unwrap_or_else(|difference| panic!("{difference}")),
        };
        document.check(name, &example.schema, &answer);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_works_by_name_on_a_fresh_server_after_those_before_it() {
    tell(|example, made| example.by_name(made)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_example_works_by_position_on_a_fresh_server_after_those_before_it() {
    tell(|example, made| example.by_position(made)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_those_that_the_document_lists() {
    let (_house, _server, client) = open(0).await;
    let (document, examples) = (Document::committed(), examples());
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
        if let Some(example) = examples.iter().find(|example| example.method == name && example.takes.contains_key("context_id")) {
            let mut params = example.at_once(&mut Made::default());
            params.insert("context_id".to_owned(), json!(7));
            let fault = ask(params.into()).await.unwrap_err();
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
        // As it is sent it has no space that says nothing.
        let committed = serde_json::from_str::<Value>(&at(&host)).unwrap().to_string();
        assert!(committed.contains(&format!(r#""url":"http://{host}/""#)) && committed.contains(&format!(r#""url":"ws://{host}/""#)));
        assert_eq!(server.get_at(&host, "/openrpc.json").await, (200, committed.clone()));
        let (status, answer) = server.post_at(&host, r#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover"}"#).await;
        assert!(status == 200 && answer.contains(&committed), "{answer}");
    }
    let served: Value = serde_json::from_str(&at(&server.address.to_string())).unwrap();
    assert_eq!(client.ok("rpc.discover", Value::Null).await, served);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_looks_like_in_every_state_fits_its_schema() {
    let (house, _server, client) = open(1).await;
    let document = Document::committed();
    let mut spec = json!({
        "script": "print(args.n); if args.n == 1 { throw \"no\" } args.n",
        "args": {"n": 2}, "group": "default", "instance": 1, "priority": 0, "timeout": 1.5, "retries": 1, "retry_backoff": 0.01,
        "retention": 60, "worker_id": "w",
    });
    for param in document.method("create_job")["params"].as_array().unwrap() {
        let name = param["name"].as_str().unwrap();
        if let (None, Some(value)) = (spec.get(name), any_texts(name, &param["schema"])) {
            spec[name] = value;
        }
    }
    let schema = &document.method("get_job")["result"]["schema"];
    let finished = client.ok("run_and_wait", spec.clone()).await["job_id"].clone();
    let job = client.ok("get_job", json!([finished])).await;
    document.check("get_job", schema, &job);
    assert_eq!((&job["output"], &job["actor"]), (&json!("2"), &json!("osis:default:1")));
    spec["env_vars"]["env_vars"] = json!("***");
    let shown = &document.0["components"]["schemas"]["Job"]["properties"];
    for (name, given) in spec.as_object().unwrap().iter().filter(|(name, _)| shown.get(name).is_some()) {
        assert_eq!(&job[name], given, "{name}");
    }
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
