//! A Redis user with exactly the rights that hero needs.

use hero::client::Client;
use hero::model::PrivateKey;
use hero::store::{acl_rules, own_functions, public_functions};
use serde_json::{Value, json};

use crate::support::{Process, Redis, until};

/// Creates the user `hero` as the page describes.
async fn allow(redis: &Redis, may_load: bool) {
    let rules = acl_rules(may_load);
    let words: Vec<&str> = ["ACL", "SETUSER", "hero", "reset", "on", ">hunter22"].into_iter().chain(rules.split(' ')).collect();
    let _: () = redis.run(&words).await;
}

async fn serve(redis: &Redis, data: &std::path::Path) -> Process {
    let (url, data) = (redis.url(), data.display().to_string());
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data",
        &data,
        "--pool",
        "osis=2",
        "--contexts",
        "0,1",
        "--redis",
        &url,
        "--redis-user",
        "hero",
    ];
    Process::start_with(&arguments, |command| {
        command.env("HERO_REDIS_PASSWORD", "hunter22");
    })
    .until_ready()
    .await
}

async fn ok(client: &Client, method: &str, params: Value) -> Value {
    client.call_named(method, params.clone()).await.unwrap_or_else(|error| panic!("{method} {params}: {error}"))
}

/// Everything that callers do.
async fn use_all_of_it(client: &Client) {
    for context in [0, 1] {
        let script = r#"print("hello"); osis::index("people", ["born"]); osis::set("people", #{ id: "ada", born: 1815 }); 40 + 2"#;
        let result = ok(client, "run_and_wait", json!({ "script": script, "context_id": context })).await;
        assert_eq!(result["value"], 42);
        let logs = ok(client, "get_logs", json!({ "job_id": result["job_id"], "context_id": context })).await;
        assert_eq!(logs["lines"][0]["text"], "hello");
        let found = ok(client, "find_objects", json!({ "collection": "people", "filter": { "born": 1815 }, "context_id": context })).await;
        assert_eq!(found["objects"].as_array().unwrap().len(), 1);
    }
    let first = ok(client, "create_job", json!({ "script": "1", "idempotency_key": "k", "priority": 0 })).await;
    let continuation = ok(client, "create_job", json!({ "script": "inputs.len()", "prerequisites": [first] })).await;
    ok(client, "start_job", json!([continuation])).await;
    ok(client, "explain_job", json!([continuation])).await;
    ok(client, "start_job", json!([first])).await;
    ok(client, "wait_job", json!([continuation])).await;
    let long = ok(client, "create_job", json!(["loop {}"])).await;
    ok(client, "start_job", json!([long])).await;
    until("it runs", || async { (ok(client, "get_status", json!([long])).await == "started").then_some(()) }).await;
    ok(client, "stop_job", json!([long])).await;
    until("it has ended", || async { (ok(client, "get_status", json!([long])).await == "error").then_some(()) }).await;
    assert!(ok(client, "list_jobs", json!({ "filter": { "status": "error" } })).await["jobs"].as_array().unwrap().len() == 1);
    ok(client, "delete_job", json!([long])).await;
    let later = ok(client, "create_job", json!({ "script": "7", "run_at": "2999-01-01T00:00:00Z" })).await;
    ok(client, "start_job", json!([later])).await;
    ok(client, "stop_job", json!([later])).await;
    ok(client, "retry_job", json!([later])).await;
    ok(client, "pause_queue", json!(["sal"])).await;
    ok(client, "resume_queue", json!(["sal"])).await;
    let schedule = ok(client, "create_schedule", json!({ "job": { "script": "1", "name": "often" }, "every": 1 })).await;
    let fired = || async {
        let jobs = ok(client, "list_jobs", json!({ "filter": { "name": "often", "status": "finished" } })).await;
        (jobs["jobs"].as_array().unwrap().len() >= 2).then_some(())
    };
    until("the schedule has fired", fired).await;
    ok(client, "delete_schedule", json!([schedule["schedule_id"]])).await;
    ok(client, "set_object", json!(["people", { "id": "bob" }])).await;
    ok(client, "delete_object", json!(["people", "bob"])).await;
    ok(client, "list_collections", json!([])).await;
    ok(client, "drop_collection", json!(["people"])).await;
    let key = PrivateKey::random();
    let identity = ok(client, "create_identity", json!({ "pubkey": key.public_key() })).await["identity_id"].clone();
    ok(client, "grant", json!([identity, "caller"])).await;
    ok(client, "list_identities", json!({})).await;
    let token = ok(client, "create_token", json!([identity])).await["token_id"].clone();
    client.log_in(&key).await.unwrap();
    ok(client, "list_tokens", json!([identity])).await;
    ok(client, "revoke_token", json!([token])).await;
    ok(client, "delete_identity", json!([identity])).await;
    for method in ["list_actors", "list_queues", "server_info", "get_context"] {
        ok(client, method, json!({})).await;
    }
}

/// The commands that the user was refused, as `command of client`.
async fn refused(redis: &Redis) -> Vec<String> {
    let log: Vec<redis::Value> = redis.run(&["ACL", "LOG"]).await;
    let entries = log
        .into_iter()
        .map(|entry| <std::collections::HashMap<String, redis::Value> as redis::FromRedisValue>::from_redis_value(entry).unwrap());
    let text = |value: &redis::Value| <String as redis::FromRedisValue>::from_redis_value(value.clone()).unwrap_or_default();
    entries
        .map(|entry| format!("{} ({})", text(&entry["object"]), text(&entry["context"])))
        .filter(|entry| !entry.starts_with("client|setinfo"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_with_the_documented_rules_serves_everything() {
    let (redis, data) = (Redis::start().await, tempfile::tempdir().unwrap());
    allow(&redis, true).await;
    let server = serve(&redis, data.path()).await;
    use_all_of_it(&server.client().await).await;
    assert_eq!(refused(&redis).await, Vec::<String>::new());
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_may_load_nothing_serves_what_an_admin_has_loaded() {
    let (redis, data) = (Redis::start().await, tempfile::tempdir().unwrap());
    allow(&redis, false).await;
    let _: String = redis.run(&["FUNCTION", "LOAD", own_functions()]).await;
    let _: String = redis.run(&["FUNCTION", "LOAD", "REPLACE", public_functions()]).await;
    let server = serve(&redis, data.path()).await;
    use_all_of_it(&server.client().await).await;
    // It asks now and then what other versions have left, and does without.
    let refused: Vec<String> = refused(&redis).await.into_iter().filter(|entry| !entry.starts_with("function|list")).collect();
    assert_eq!(refused, Vec::<String>::new());
    server.stop().await;
}

#[tokio::test]
async fn what_hero_does_not_need_is_refused() {
    let redis = Redis::start().await;
    for may_load in [true, false] {
        allow(&redis, may_load).await;
        let client = redis::Client::open(redis.url()).unwrap();
        let mut connection = crate::support::connection(&client).await.unwrap();
        let _: () = redis::cmd("AUTH").arg("hero").arg("hunter22").query_async(&mut connection).await.unwrap();
        for words in [
            &["FLUSHALL"][..],
            &["KEYS", "*"],
            &["CONFIG", "GET", "*"],
            &["ACL", "LIST"],
            &["SHUTDOWN"],
            &["CLIENT", "LIST"],
            &["MONITOR"],
            &["SWAPDB", "0", "1"],
            &["FUNCTION", "FLUSH"],
            &["REPLICAOF", "localhost", "1"],
            &["SCRIPT", "FLUSH"],
            &["PUBLISH", "others", "x"],
            &["SORT", "hero:events"],
        ] {
            let answer: redis::RedisResult<redis::Value> = redis::cmd(words[0]).arg(&words[1..]).query_async(&mut connection).await;
            let error = answer.expect_err(words[0]).to_string();
            assert!(error.contains("NOPERM") || error.contains("no permissions"), "{words:?}: {error}");
        }
        let load: redis::RedisResult<String> =
            redis::cmd("FUNCTION").arg("LOAD").arg("REPLACE").arg(own_functions()).query_async(&mut connection).await;
        assert_eq!(load.is_ok(), may_load);
    }
}

#[test]
fn the_program_prints_what_an_admin_gives() {
    let printed = |arguments: &[&str]| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_hero")).args(arguments).output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(printed(&["redis", "acl"]).trim_end(), format!("ACL SETUSER hero on >PASSWORD {}", acl_rules(true)));
    assert_eq!(printed(&["redis", "acl", "bob", "--no-loading"]).trim_end(), format!("ACL SETUSER bob on >PASSWORD {}", acl_rules(false)));
    assert_eq!(printed(&["redis", "functions"]), own_functions());
    assert_eq!(printed(&["redis", "functions", "--public"]), public_functions());
}
