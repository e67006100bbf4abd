//! The hash of a context, field by field, and the rights to see and change it.

use std::collections::BTreeMap;

use hero::model::{ContextId, ContextLimits, Role};

use super::*;
use crate::support::texts_in_each_other;

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_the_hash_of_the_specification_in_its_own_database() {
    let town = Town::open().await;
    let admin = town.client.ok("create_identity", json!({})).await["identity_id"].as_u64().unwrap();
    let limits = json!({ "jobs_per_second": 50, "max_running": 2, "objects_quota": 1000 });
    let made = town.client.ok("create_context", json!({ "name": "shop", "admins": [admin], "limits": limits })).await;
    assert_eq!((&made["context_id"], &made["admins"], &made["limits"]), (&json!(1), &json!([admin]), &limits));
    town.client.ok("grant", json!([admin, "executor", 1])).await;
    let fields: BTreeMap<String, String> = town.redis.run_in(1, &["HGETALL", "context:1"]).await;
    let seconds = |name: &str| fields[name].parse::<u32>().unwrap_or_else(|_| panic!("{name}: {}", fields[name]));
    assert!(seconds("created_at") > 1_700_000_000 && seconds("updated_at") >= seconds("created_at"));
    let text = |name: &str| fields[name].as_str();
    assert_eq!((text("id"), text("admins"), text("readers"), text("executors")), ("1", "[1]", "[]", "[1]"));
    assert_eq!((text("callers"), text("name"), text("status")), ("[]", "shop", "active"));
    assert_eq!(serde_json::from_str::<Value>(text("limits")).unwrap(), limits);
    assert_eq!(fields.len(), 10, "{fields:?}");
    // The specification's fields come first.
    let names: Vec<String> = town.redis.run_in(1, &["HKEYS", "context:1"]).await;
    assert_eq!(names[..6], ["id", "admins", "readers", "executors", "created_at", "updated_at"]);
    // Which contexts there are is known without a look into each database.
    let listed: Vec<String> = town.redis.run(&["ZRANGE", "hero:access:contexts", "0", "-1"]).await;
    assert_eq!(listed, ["0", "1"]);
    assert_eq!(town.redis.run::<u64>(&["EXISTS", "context:1"]).await, 0);

    let changed = town.client.ok("update_context", json!({ "context_id": 1, "name": "store", "limits": { "max_running": 0 } })).await;
    assert_eq!((&changed["name"], &changed["limits"]), (&json!("store"), &json!({ "jobs_per_second": 50, "objects_quota": 1000 })));
    assert_eq!(town.client.ok("get_context", json!({ "context_id": 1 })).await, changed);
    let all = town.client.ok("list_contexts", json!({ "limit": 1 })).await;
    assert_eq!((&all["contexts"][0]["context_id"], &all["next_cursor"]), (&json!(0), &json!("0")));
    let rest = town.client.ok("list_contexts", json!({ "cursor": "0" })).await;
    assert_eq!((rest["contexts"].as_array().unwrap().len(), &rest["contexts"][0]), (1, &changed));
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_number_is_given_twice_and_those_of_the_settings_are_passed_over() {
    let town = Town::with(&["--contexts", "0,2", "--pool", "osis=1"]).await;
    assert_eq!(town.context(json!({})).await, 1);
    assert_eq!(town.context(json!({})).await, 3);
    town.client.ok("delete_context", json!({ "context_id": 3 })).await;
    assert_eq!(town.context(json!({})).await, 4);
    for (params, code, said) in [
        (json!({ "context_id": 0 }), 1002, "named by the settings"),
        (json!({ "context_id": 2 }), 1002, "named by the settings"),
        (json!({ "context_id": 77 }), 1011, "context 77 does not exist here"),
    ] {
        let fault = town.client.fault("delete_context", params).await;
        assert!(fault.code == code && fault.message.contains(said), "{fault:?}");
    }
    for (params, said) in [
        (json!({ "name": "x".repeat(300) }), "name: has 300 bytes"),
        (json!({ "admins": [99] }), "identity 99 does not exist"),
        (json!({ "limits": { "jobs": 1 } }), "unknown parameter `limits.jobs`"),
    ] {
        let fault = town.client.fault("create_context", params).await;
        assert!(fault.message.contains(said), "{fault:?}");
    }
    assert_eq!(town.context(json!({})).await, 5);
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_without_such_a_database_says_so_and_nothing_is_made() {
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::with(&["--save", "", "--databases", "2"]).await);
    let server = serve(&redis, &home, &POOL).await;
    let client = Client::connect(&server.url()).await;
    client.ok("create_context", json!({})).await;
    let fault = client.fault("create_context", json!({})).await;
    assert!(fault.code == 1007 && fault.message.contains("raise `databases`"), "{fault:?}");
    assert_eq!(client.ok("list_contexts", json!({})).await["contexts"].as_array().unwrap().len(), 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_role_sees_the_context_and_only_its_admins_and_the_operator_change_it() {
    let town = Town::with(&["--login", "--pool", "osis=1"]).await;
    let socket = format!("unix://{}", town.home.path().join("hero.sock").display());
    let operator = hero::client::Client::connect(&socket, None).await.unwrap();
    let made = operator.create_context(Some("shop"), &[], ContextLimits::default()).await.unwrap();
    let other = operator.create_context(None, &[], ContextLimits::default()).await.unwrap().context_id;
    assert_eq!(made.context_id, ContextId(1));
    let mut clients = BTreeMap::new();
    for role in Role::ALL {
        let identity = operator.create_identity(None, &[]).await.unwrap().identity_id;
        operator.set_role(identity, role, ContextId(1), true).await.unwrap();
        let token = operator.create_token(identity, None, None).await.unwrap();
        let client = hero::client::Client::connect(&town.server.url(), Some(&token.secret)).await.unwrap();
        clients.insert(role.as_str(), client);
    }
    for (role, client) in &clients {
        let seen = client.list_contexts(None, 100).await.unwrap();
        assert_eq!(seen.contexts.iter().map(|context| context.context_id.0).collect::<Vec<_>>(), [1], "{role}");
        assert!(client.get_context(ContextId(1)).await.unwrap().name.is_some(), "{role}");
        let refused = client.get_context(other).await.unwrap_err().to_string();
        assert!(refused.contains("needs to be admin"), "{refused}");
        let changed = client.update_context(ContextId(1), Some(role), ContextLimits::default()).await;
        assert_eq!(changed.is_ok(), *role == "admin", "{role}: {changed:?}");
        assert!(client.create_context(None, &[], ContextLimits::default()).await.is_err(), "{role}");
    }
    let limits = ContextLimits { max_running: Some(7), ..ContextLimits::default() };
    let refused = clients["admin"].update_context(ContextId(1), None, limits).await.unwrap_err().to_string();
    assert!(refused.contains("set by the operator"), "{refused}");
    assert_eq!(operator.update_context(ContextId(1), None, limits).await.unwrap().limits, limits);
    // A reader sees that there are variables, and not what is in them.
    let spec = json!({ "script": "1", "context_id": 1, "env_vars": { "KEY": "hidden" } });
    let job: String = clients["caller"].call_named("create_job", spec).await.unwrap();
    let read: Value = clients["reader"].call_named("get_job", json!({ "job_id": job, "context_id": 1 })).await.unwrap();
    assert_eq!(read["env_vars"], json!({ "KEY": "***" }));
    // Nor what messages carry, whether they are to go out or came.
    let carried = json!([{ "script": "1", "env_vars": { "KEY": "hidden" } }]);
    let mut message = json!({ "message_type": "job", "job": carried, "address": "here", "target_context": 1, "context_id": 1 });
    let sent: Value = clients["caller"].call_named("send_message", message.clone()).await.unwrap();
    message["address"] = json!("redis://127.0.0.1:1");
    let stays: Value = operator.call_named("send_message", message).await.unwrap();
    let read = async |method: &str, params: Value| clients["reader"].call_named::<Value>(method, params).await;
    let number = |message: &Value| json!({ "caller_id": message["caller_id"], "message_id": message["message_id"], "context_id": 1 });
    let came = until("the message that came", || async {
        let keys: Vec<String> = town.redis.run_in(1, &["KEYS", "message:*"]).await;
        let other = |key: &&String| ![&sent, &stays].iter().any(|one| key.ends_with(&format!(":{}", one["message_id"])));
        let key = keys.iter().find(other)?.rsplit(':').next()?.parse::<u32>().ok()?;
        Some(json!({ "caller_id": sent["caller_id"], "message_id": key }))
    })
    .await;
    for message in [&sent, &stays, &came] {
        let shown = read("get_message", number(message)).await.unwrap();
        assert_eq!(shown["job"][0]["env_vars"], json!({ "KEY": "***" }), "{shown}");
    }
    // It is in no list while it is tried.
    let listed = until("the message that stays", || async {
        let listed = read("list_messages", json!({ "list": "out", "context_id": 1 })).await.unwrap();
        (!listed["messages"].as_array().unwrap().is_empty()).then_some(listed)
    })
    .await;
    assert!(!listed.to_string().contains("hidden"), "{listed}");
    assert!(clients["reader"].delete_context(ContextId(1), true).await.is_err());
    clients["admin"].delete_context(ContextId(1), true).await.unwrap();
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contexts_of_the_settings_have_their_hash_from_the_start_and_what_is_there_stays() {
    let (home, redis) = (tempfile::tempdir().unwrap(), Redis::start().await);
    // Another program was here before, and wrote what matters to it.
    // Fields that would overflow the stack of serde_json's own reader count as empty.
    let nested = texts_in_each_other(60);
    let _: i64 = redis.run_in(5, &["HSET", "context:5", "id", "5", "admins", "[9]", "readers", &nested, "limits", &nested]).await;
    let server = serve(&redis, &home, &["--contexts", "0,4,5", "--pool", "none"]).await;
    let client = Client::connect(&server.url()).await;
    for context in [0, 4] {
        let fields: BTreeMap<String, String> = redis.run_in(context, &["HGETALL", &format!("context:{context}")]).await;
        assert_eq!((&*fields["id"], &*fields["admins"], &*fields["status"]), (&*context.to_string(), "[]", "active"));
        assert!(fields["created_at"].parse::<u32>().unwrap() > 1_700_000_000 && fields.len() == 10, "{fields:?}");
        assert!(client.ok("get_context", json!([context])).await["created_at"].is_string());
    }
    let fields: BTreeMap<String, String> = redis.run_in(5, &["HGETALL", "context:5"]).await;
    assert_eq!((fields.len(), &*fields["admins"]), (4, "[9]"));
    let shown = client.ok("get_context", json!([5])).await;
    assert_eq!((&shown["admins"], &shown["readers"]), (&json!([9]), &json!([])));
    server.stop().await;
}
