//! Every call in every role: `docs/permissions.md` is true.

use std::collections::BTreeMap;

use hero::coordinator::flows::Flows;
use hero::model::ContextId;

use super::*;

/// Who calls.
pub(super) const COLUMNS: [&str; 6] = ["nobody", "identity", "reader", "executor", "caller", "admin"];

/// What the page says: the words of each method, in the order of the columns.
fn table() -> BTreeMap<String, Vec<String>> {
    rows(hero::rpc::permissions().split_once("\n## ").unwrap().0)
}

/// What the page says of the functions of scripts.
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

/// Parameters that concern a job, a schedule and the like of this caller; `own` is its number.
fn params(method: &str, job: &str, flow: u32, schedule: &str, identity: u32, token: &str) -> Value {
    match method {
        "create_job" | "run_and_wait" => json!({ "script": "1", "prerequisites": [job] }),
        "create_jobs" => json!({ "jobs": [{ "script": "1", "prerequisites": [job] }] }),
        "start_job" | "stop_job" | "retry_job" | "get_status" | "get_job" | "get_result" | "get_logs" | "delete_job" | "explain_job"
        | "wait_job" | "subscribe_job" | "subscribe_logs" => json!({ "job_id": job }),
        "list_jobs" | "subscribe_events" => json!({ "where": { "caller_id": identity.to_string() } }),
        "create_flow" | "run_flow_and_wait" => json!({ "jobs": { "a": { "script": "1" } }, "prerequisites": [job] }),
        "start_flow" | "wait_flow" | "get_flow" | "stop_flow" | "retry_flow" | "delete_flow" | "subscribe_flow" => {
            json!({ "flow_id": flow })
        }
        "list_flows" => json!({ "caller_id": identity.to_string() }),
        "list_schedules" => json!({ "caller_id": identity.to_string() }),
        "create_schedule" => json!({ "job": { "script": "1" }, "every": 3600 }),
        "delete_schedule" => json!([schedule]),
        "set_object" => json!(["people", { "id": "ada" }]),
        "get_object" | "delete_object" => json!(["people", "ada"]),
        "find_objects" | "drop_collection" => json!(["people"]),
        "pause_queue" | "resume_queue" => json!(["sal"]),
        "get_identity" | "create_token" | "list_tokens" => json!([identity]),
        "update_identity" | "delete_identity" => json!([9999]),
        "revoke_token" => json!([token]),
        "send_message" | "ping_node" => json!({ "address": "here" }),
        "get_message" | "acknowledge_message" | "delete_message" => json!([identity, 9999]),
        "list_messages" => json!({ "caller_id": identity }),
        "create_runner" => json!(["osis"]),
        "update_runner" | "get_runner" | "delete_runner" => json!([9999]),
        "grant" | "revoke" => json!([9999, "reader"]),
        "delete_context" => json!([0]),
        _ => json!({}),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_call_in_every_role_is_allowed_as_the_page_says() {
    let guarded = Guarded::open().await;
    let stranger = guarded.with_roles(&[Role::Caller]).await;
    let of_stranger = guarded.identity(&[]).await;
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for (column, name) in COLUMNS.into_iter().enumerate() {
        let identity = guarded.identity(&roles(name)).await;
        let client = if name == "nobody" { guarded.nobody().await } else { guarded.client(identity).await };
        for (method, words) in table() {
            for is_own in [true, false] {
                // Each call has a job, a schedule and a token of its own, of this identity or of somebody else.
                let owner = if is_own { identity } else { of_stranger };
                let signed = |spec: Value| {
                    let mut spec = spec;
                    spec["caller_id"] = json!(owner.to_string());
                    spec
                };
                let spec = serde_json::from_value(signed(json!({ "script": "1" }))).unwrap();
                let job = guarded.house.dispatcher.create(spec).await.unwrap().to_string();
                let spec = serde_json::from_value(signed(json!({ "jobs": { "a": { "script": "1" } } }))).unwrap();
                let flow = Flows::new(guarded.house.dispatcher.clone()).create(spec).await.unwrap();
                let spec = serde_json::from_value(json!({ "job": signed(json!({ "script": "1" })), "every": 3600 })).unwrap();
                let schedule = guarded.house.dispatcher.create_schedule(spec).await.unwrap().schedule_id.to_string();
                let made = guarded.authority.create_token(owner, None, None, None).await.unwrap();
                let token = made.token.token_id.clone();
                let mut given = params(&method, &job, flow.0, &schedule, owner.0, token.as_str());
                if ["wait_job", "run_and_wait", "wait_flow", "run_flow_and_wait"].contains(&method.as_str()) {
                    given["wait_timeout"] = json!(0);
                }
                let answer = code(&client, &method, given).await;
                let allowed = match words[column].as_str() {
                    "yes" => true,
                    // A schedule names no other job, so it is always its creator's own.
                    "own" => is_own || method == "create_schedule",
                    _ => false,
                };
                if (answer == 1004 || answer == 1005) == allowed {
                    wrong.push(format!("{method} as {name}, own: {is_own}: {answer}"));
                }
                asked += 1;
                let _ = guarded.authority.revoke_token(&token).await;
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(asked > 500, "only {asked} calls");
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
    // However the id of a job is written.
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
        ("ping_node", json!({ "address": "here", "target_context": 1 })),
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
    // The same goes for where a runner is, which was made meanwhile.
    let by_topic = json!({ "topic": "runner3" });
    assert_eq!(code(&client, "send_message", by_topic.clone()).await, 0);
    guarded.authority.set_role(ContextId(1), ada, Role::Caller, false).await.unwrap();
    assert_eq!(code(&client, "send_message", by_topic).await, 1004);
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
            ("ping_node", json!({ "address": address })),
            ("create_runner", runner(address)),
            ("update_runner", json!({ "runner_id": 1, "address": address })),
        ] {
            let Err(Error::Rpc(error)) = admin.call::<Value>(method, params).await else { panic!("{method} {address}") };
            assert!(error.code == 1004 && error.message.contains("node_redis"), "{error:?}");
        }
    }
    for address in ["node:berlin", "4a2:12::1"] {
        assert_eq!(code(&admin, "send_message", json!({ "address": address })).await, 0, "{address}");
    }
}
