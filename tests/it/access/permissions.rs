//! Every call in every role matches `docs/permissions.md`.

use std::collections::{BTreeMap, BTreeSet};

use hero::coordinator::flows::Flows;
use hero::model::ContextId;
use serde_json::Map;

use super::*;
use crate::support::{Example, Made, examples};

/// The callers.
pub(super) const COLUMNS: [&str; 6] = ["nobody", "identity", "reader", "executor", "caller", "admin"];

/// The table of the page: the words of each method, in the order of the columns.
fn table() -> BTreeMap<String, Vec<String>> {
    rows(hero::rpc::permissions().split_once("\n## ").unwrap().0)
}

/// The rights of script functions on the page.
pub(super) fn functions() -> BTreeMap<String, Vec<String>> {
    rows(hero::rpc::permissions().split_once("\n## ").unwrap().1)
}

fn rows(page: &str) -> BTreeMap<String, Vec<String>> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let row = |line: &str| {
        let mut cells = line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned());
        (cells.next().unwrap(), cells.take(COLUMNS.len()).collect())
    };
    rows.map(row).collect()
}

/// The roles of an identity of a column.
pub(super) fn roles(column: &str) -> Vec<Role> {
    match column {
        "reader" => vec![Role::Reader],
        "executor" => vec![Role::Executor],
        "caller" => vec![Role::Caller],
        "admin" => vec![Role::Admin],
        _ => Vec::new(),
    }
}

/// A job, a flow, a schedule and a token of an identity.
struct Things {
    owner: IdentityId,
    job: String,
    flow: u32,
    schedule: String,
    token: String,
}

impl Things {
    async fn of(owner: IdentityId, guarded: &Guarded) -> Self {
        let signed = |mut spec: Value| {
            spec["caller_id"] = json!(owner.to_string());
            spec
        };
        let dispatcher = &guarded.house.dispatcher;
        let job = dispatcher.jobs().create(serde_json::from_value(signed(json!({ "script": "1" }))).unwrap()).await.unwrap().to_string();
        let spec = serde_json::from_value(signed(json!({ "jobs": { "a": { "script": "1" } } }))).unwrap();
        let flow = Flows::new(dispatcher.clone()).create(spec).await.unwrap().0;
        let spec = serde_json::from_value(json!({ "job": signed(json!({ "script": "1" })), "every": 3600 })).unwrap();
        let schedule = dispatcher.schedules().create(spec).await.unwrap().schedule_id.to_string();
        let token = guarded.authority.create_token(owner, None, None, None).await.unwrap().token.token_id.to_string();
        Self { owner, job, flow, schedule, token }
    }

    /// Makes a call refer to these, within context 0. Returns whether it does.
    fn concern(&self, example: &Example, params: &mut Map<String, Value>) -> bool {
        let takes = |name: &str| example.takes.contains_key(name);
        let mut put = |name: &str, value: Value| takes(name) && params.insert(name.to_owned(), value).is_none_or(|_| true);
        for context in ["context_id", "target_context"] {
            put(context, json!(0));
        }
        let owner = if example.takes.get("caller_id").is_some_and(|schema| schema["type"] == "string") {
            json!(self.owner.to_string())
        } else {
            json!(self.owner.0)
        };
        if !example.makes() {
            return [
                put("job_id", json!(self.job)),
                put("flow_id", json!(self.flow)),
                put("schedule_id", json!(self.schedule)),
                put("token_id", json!(self.token)),
                put("identity_id", json!(self.owner.0)),
                put("caller_id", owner),
                put("filter", json!({ "caller_id": self.owner.to_string() })),
            ]
            .contains(&true);
        }
        let concerned = put("identity_id", json!(self.owner.0)) | put("prerequisites", json!([self.job]));
        // A create gets another id each time.
        ["job_id", "schedule_id"].iter().for_each(|id| drop(params.remove(*id)));
        let Some(Value::Array(jobs)) = params.get_mut("jobs") else { return concerned };
        for job in jobs {
            (job["job_id"], job["prerequisites"]) = (Value::Null, json!([self.job]));
        }
        true
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_in_every_role_is_allowed_as_the_page_says() {
    let guarded = Guarded::open().await;
    let stranger = guarded.with_roles(&[Role::Caller]).await;
    let mut examples = examples();
    // The identity whose nonce is signed.
    let whose = examples.iter().find(|example| example.method == "fetch_nonce").unwrap().by_name(&mut Made::default())["pubkey"].clone();
    let change = IdentityChange { pubkey: Some(serde_json::from_value(whose).unwrap()), address: None };
    guarded.authority.create_identity(&change).await.unwrap();
    examples.dedup_by(|next, first| next.method == first.method);
    examples.retain(|example| !example.method.starts_with("unsubscribe_"));
    let table = table();
    assert_eq!(examples.iter().map(|example| &example.method).collect::<BTreeSet<_>>(), table.keys().collect());
    let mut wrong = Vec::new();
    for (column, name) in COLUMNS.into_iter().enumerate() {
        let mut made = Made::default();
        for example in &examples {
            for is_own in [true, false] {
                // The caller is a new identity each time, because some calls change its rights.
                let identity = guarded.identity(&roles(name)).await;
                let client = if name == "nobody" { guarded.nobody().await } else { guarded.client(identity).await };
                let things = Things::of(if is_own { identity } else { guarded.identity(&[]).await }, &guarded).await;
                let mut params = example.at_once(&mut made);
                let concerned = things.concern(example, &mut params);
                if example.takes.contains_key("token") {
                    params.insert("token".to_owned(), json!(guarded.secret(identity).await));
                }
                let answer = client.call_named::<Value>(&example.method, params).await;
                let code = match &answer {
                    Ok(answer) => {
                        let _ = made.agree("", &example.result, answer);
                        0
                    }
                    Err(Error::Rpc(error)) => error.code,
                    Err(error) => panic!("{}: {error}", example.method),
                };
                let allowed = match table[&example.method][column].as_str() {
                    "yes" => true,
                    // A call that names no items of others always concerns the caller's own.
                    "own" => is_own || !concerned,
                    _ => false,
                };
                if (code == 1004 || code == 1005) == allowed {
                    wrong.push(format!("{} as {name}, own: {is_own}: {code} {answer:?}", example.method));
                }
                // A nonce is good once.
                if example.method == "authenticate" {
                    let fetch = examples.iter().find(|example| example.method == "fetch_nonce").unwrap();
                    let nonce: Value = client.call_named("fetch_nonce", fetch.by_name(&mut made)).await.unwrap();
                    made.learn(&fetch.result, nonce.as_str().unwrap());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_eq!(code(&stranger, "list_jobs", json!({})).await, 1004);
}

#[tokio::test]
async fn roles_hold_in_their_context_only_and_nobody_signs_for_another() {
    let guarded = Guarded::open().await;
    let (ada, admin) = (guarded.with_roles(&[Role::Caller]).await, guarded.with_roles(&[Role::Admin]).await);
    assert_eq!(code(&ada, "create_job", json!({ "script": "1", "context_id": 7 })).await, 1004);
    for client in [&ada, &admin] {
        assert_eq!(code(client, "create_job", json!({ "script": "1", "caller_id": "alice" })).await, 1004);
        assert_eq!(
            code(client, "create_jobs", json!({ "jobs": [{ "script": "1" }, { "script": "1", "caller_id": "alice" }] })).await,
            1004
        );
    }
    // In any spelling of the job's id.
    let of_admin = job(&admin).await;
    for id in [of_admin.clone(), of_admin.to_uppercase()] {
        assert_eq!(code(&ada, "get_job", json!([id])).await, 1004, "{id}");
        assert_eq!(code(&ada, "create_job", json!({ "script": "1", "parent_id": id })).await, 1004, "{id}");
    }
    assert_eq!(code(&admin, "get_job", json!([job(&ada).await])).await, 0);
    assert_eq!(code(&ada, "get_job", json!(["00000000-0000-4000-8000-000000000000"])).await, 1001);
    // In a batch, and as a notification, too.
    let batch = json!([{"jsonrpc": "2.0", "id": 1, "method": "delete_job", "params": [of_admin]}, {"jsonrpc": "2.0", "method": "delete_job", "params": [of_admin]}]);
    let secret = guarded.secret(guarded.identity(&[Role::Caller]).await).await;
    let (_, answer) = guarded.server.post_with(&format!("Bearer {secret}"), &batch.to_string()).await;
    assert!(answer.contains("1004"), "{answer}");
    assert_eq!(code(&admin, "get_status", json!([of_admin])).await, 0);
}

#[tokio::test]
async fn what_goes_to_another_context_of_the_server_needs_the_right_there() {
    let guarded = Guarded::over(House::with_contexts(&[ContextId(1)]).await).await;
    let ada = guarded.identity(&[Role::Admin]).await;
    let client = guarded.client(ada).await;
    let calls = [
        ("send_message", json!({ "address": "here", "target_context": 1 })),
        ("create_runner", json!({ "script_type": "osis", "local": false, "address": "here", "target_context": 1 })),
        ("update_runner", json!({ "runner_id": 1, "target_context": 1 })),
        ("update_runner", json!({ "runner_id": 2, "address": "here" })),
    ];
    for runner in [json!({ "address": "here" }), json!({ "address": "node:berlin", "target_context": 1 })] {
        let mut runner = runner;
        (runner["script_type"], runner["local"]) = (json!("osis"), json!(false));
        assert_eq!(code(&client, "create_runner", runner).await, 0);
    }
    for (method, params) in &calls {
        assert_eq!(code(&client, method, params.clone()).await, 1004, "{method} {params}");
    }
    guarded.authority.set_role(ContextId(1), ada, Role::Caller, true).await.unwrap();
    for (method, params) in calls {
        assert_eq!(code(&client, method, params.clone()).await, 0, "{method} {params}");
    }
    // The same applies to the location of a runner, which was created meanwhile.
    let by_topic = json!({ "topic": "runner3" });
    assert_eq!(code(&client, "send_message", by_topic.clone()).await, 0);
    guarded.authority.set_role(ContextId(1), ada, Role::Caller, false).await.unwrap();
    assert_eq!(code(&client, "send_message", by_topic).await, 1004);
}

#[tokio::test]
async fn an_executor_runs_what_others_have_made_and_changes_nothing_else() {
    let guarded = Guarded::open().await;
    let (ada, executor) = (guarded.with_roles(&[Role::Caller]).await, guarded.identity(&[Role::Executor]).await);
    let client = guarded.client(executor).await;
    let of_ada = job(&ada).await;
    let flow: Value = ada.call_named("create_flow", json!({ "jobs": { "a": { "script": "1" } } })).await.unwrap();
    for (things, start, stop, retry) in
        [(json!([of_ada]), "start_job", "stop_job", "retry_job"), (json!([flow]), "start_flow", "stop_flow", "retry_flow")]
    {
        for (method, things) in [(start, &things), (stop, &things), (retry, &things)] {
            assert_eq!(code(&client, method, things.clone()).await, 0, "{method}");
        }
    }
    // It runs with the rights of its creator.
    let caller_of_ada = ada.call_named::<Value>("whoami", json!([])).await.unwrap()["identity_id"].to_string();
    assert_eq!(client.call_named::<Value>("get_job", json!([of_ada])).await.unwrap()["caller_id"], json!(caller_of_ada));
    for (method, params) in [
        ("create_job", json!({ "script": "1" })),
        ("run_and_wait", json!({ "script": "1" })),
        ("delete_job", json!([of_ada])),
        ("delete_flow", json!([flow])),
        ("set_object", json!({ "collection": "a", "object": { "id": 1 } })),
        ("send_message", json!({ "address": "here" })),
        ("pause_queue", json!({ "script_type": "osis" })),
        ("grant", json!({ "identity_id": executor.0, "role": "admin" })),
        ("update_context", json!({ "name": "mine" })),
    ] {
        assert_eq!(code(&client, method, params).await, 1004, "{method}");
    }
    assert_eq!(code(&client, "start_job", json!({ "job_id": of_ada, "context_id": 7 })).await, 1004);
}

#[tokio::test]
async fn callers_name_the_redis_of_other_nodes_by_the_settings_only() {
    let guarded = Guarded::open().await;
    let admin = guarded.with_roles(&[Role::Admin]).await;
    let runner = |address: &str| json!({ "script_type": "osis", "local": false, "address": address });
    assert_eq!(code(&admin, "create_runner", runner("node:berlin")).await, 0);
    for address in ["redis://10.0.0.7:6379", "rediss://10.0.0.7", "unix:///run/redis.sock", "redis+unix:///run/redis.sock"] {
        for (method, params) in [
            ("send_message", json!({ "address": address })),
            ("create_runner", runner(address)),
            ("update_runner", json!({ "runner_id": 1, "address": address })),
        ] {
            let Err(Error::Rpc(error)) = admin.call_named::<Value>(method, params).await else { panic!("{method} {address}") };
            assert!(error.code == 1004 && error.message.contains("node_redis"), "{error:?}");
        }
    }
    for address in ["node:berlin", "4a2:12::1"] {
        assert_eq!(code(&admin, "send_message", json!({ "address": address })).await, 0, "{address}");
    }
}
