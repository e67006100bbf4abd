//! Deleting a context deletes everything in it, and nothing of other contexts.

use super::*;

/// Waits until nothing of a context is left but the mark that lasts a day.
async fn is_gone(redis: &Redis, client: &Client, context: u32) {
    let params = json!({ "context_id": context });
    let gone = || async {
        let keys: Vec<String> = redis.run_in(context, &["KEYS", "*"]).await;
        let listed: Option<f64> = redis.run(&["ZSCORE", "hero:access:contexts", &context.to_string()]).await;
        (keys.iter().all(|key| key == "hero:meta:closed" || key.starts_with("foreign")) && listed.is_none()).then_some(())
    };
    until("the context is gone", gone).await;
    until("the server knows", || async {
        let fault = client.fault("get_context", params.clone()).await;
        fault.message.contains("does not exist here").then_some(())
    })
    .await;
    assert!(redis.run_in::<i64>(context, &["TTL", "hero:meta:closed"]).await > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_with_jobs_is_not_deleted_unless_they_are_to_be_stopped() {
    let town = Town::open().await;
    let context = town.context(json!({})).await;
    let running = start(&town.client, context, json!({ "script": "loop {}", "log_path": "a.log" })).await;
    is(&town.client, context, &running, "started").await;
    let queued = start(&town.client, context, json!({ "script": "1" })).await;
    let _: i64 = town.redis.run_in(context, &["RPUSH", "foreign:list", "x"]).await;
    let params = json!({ "context_id": context });
    let fault = town.client.fault("delete_context", params.clone()).await;
    assert_eq!(fault.code, 1002, "{fault:?}");
    assert!(fault.message.contains("1 run, 1 wait in queues, 0 for their time"), "{fault:?}");
    assert_eq!(fault.data, json!({ "running": 1, "queued": 1, "scheduled": 0, "messages": 0 }));
    is(&town.client, context, &queued, "dispatched").await;
    town.client.ok("delete_context", json!({ "context_id": context, "stop_jobs": true })).await;
    for (method, of_job) in [("create_job", json!({ "script": "1" })), ("get_job", json!({ "job_id": queued })), ("list_jobs", json!({}))] {
        let mut params = of_job;
        params["context_id"] = json!(context);
        let fault = town.client.fault(method, params).await;
        assert!(fault.code == 1011 || fault.code == 1001, "{method}: {fault:?}");
    }
    is_gone(&town.redis, &town.client, context).await;
    // What is somebody else's stays, and so do the other contexts.
    assert_eq!(town.redis.run_in::<u64>(context, &["EXISTS", "foreign:list"]).await, 1);
    assert_eq!(town.output(0, "1").await, "1");
    assert!(!town.home.path().join(format!("logs/.contexts/{context}")).exists());
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_is_kept_for_a_while_until_others_know_that_its_jobs_were_stopped() {
    let town = Town::open().await;
    let context = town.context(json!({})).await;
    let _: i64 = town.redis.run_in(context, &["HSET", "message:0:1", "status", "error"]).await;
    let _: i64 = town.redis.run_in(context, &["ZADD", "hero:q:stops", "9999999999999", "runner1"]).await;
    let fault = town.client.fault("delete_context", json!({ "context_id": context })).await;
    assert_eq!((fault.code, &fault.data["messages"]), (1002, &json!(1)), "{fault:?}");
    town.client.ok("delete_context", json!({ "context_id": context, "stop_jobs": true })).await;
    // Others that are deleted later are gone sooner.
    for _ in 0..2 {
        let other = town.context(json!({})).await;
        town.client.ok("delete_context", json!({ "context_id": other })).await;
        is_gone(&town.redis, &town.client, other).await;
    }
    let left: i64 = town.redis.run_in(context, &["EXISTS", "hero:q:stops", "message:0:1"]).await;
    assert_eq!(left, 2);
    let _: i64 = town.redis.run_in(context, &["ZREM", "hero:q:stops", "runner1"]).await;
    is_gone(&town.redis, &town.client, context).await;
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_goes_on_after_its_server_was_killed() {
    let Town { mut server, client, redis, home } = Town::open().await;
    let context = u32::try_from(client.ok("create_context", json!({})).await["context_id"].as_u64().unwrap()).unwrap();
    for _ in 0..20 {
        let jobs = vec![json!({ "script": "1", "context_id": context }); 1000];
        client.ok("create_jobs", json!({ "jobs": jobs })).await;
    }
    client.ok("delete_context", json!({ "context_id": context, "stop_jobs": true })).await;
    let left = || async {
        let keys: u64 = redis.run_in(context, &["DBSIZE"]).await;
        (keys < 19_000).then_some(keys)
    };
    until("a part has gone", left).await;
    server.kill().await;
    assert!(redis.run_in::<u64>(context, &["DBSIZE"]).await > 1, "all of it went before the kill");
    let server = serve(&redis, &home, &POOL).await;
    is_gone(&redis, &Client::connect(&server.url()).await, context).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_nobody_finished_to_make_goes() {
    let town = Town::open().await;
    let began = (std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() - 120_000).to_string();
    let _: i64 = town.redis.run(&["ZADD", "hero:access:contexts", &format!("-{began}"), "9"]).await;
    let _: i64 = town.redis.run_in(9, &["HSET", "context:9", "id", "9"]).await;
    let _: i64 = town.redis.run(&["HINCRBY", "hero:meta:access", "revision", "1"]).await;
    is_gone(&town.redis, &town.client, 9).await;
    town.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_gone_and_does_not_end_keeps_changes_of_others_from_nobody() {
    let mut town = Town::with(&["--pool", "osis=1", "--grace", "1h"]).await;
    let (gone, other) = (town.context(json!({})).await, town.context(json!({})).await);
    let script = "for i in 0..20000 {} 1";
    assert_eq!(town.output(other, script).await, "1");
    let id = start(&town.client, gone, json!({ "script": "loop {}", "timeout": 3600 })).await;
    is(&town.client, gone, &id, "started").await;
    // Another server has deleted it, and this one has missed that.
    let _: i64 = town.redis.run(&["ZREM", "hero:access:contexts", &gone.to_string()]).await;
    let _: i64 = town.redis.run(&["HINCRBY", "hero:meta:access", "revision", "1"]).await;
    until("this one knows", || async { town.client.call("get_context", json!({ "context_id": gone })).await.is_err().then_some(()) }).await;
    town.client.ok("update_context", json!({ "context_id": other, "limits": { "script_operations": 10_000 } })).await;
    let limited =
        || async { town.client.call("run_and_wait", json!({ "script": script, "context_id": other })).await.is_err().then_some(()) };
    until("the limit of the other one holds", limited).await;
    // What runs there has the grace period still.
    town.server.kill().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_is_full_contexts_are_deleted_and_rights_are_taken_away() {
    let town = Town::open().await;
    let context = town.context(json!({})).await;
    let identity = town.client.ok("create_identity", json!({})).await["identity_id"].clone();
    town.client.ok("grant", json!({ "identity_id": identity, "role": "reader", "context_id": context })).await;
    let _: () = town.redis.run(&["CONFIG", "SET", "maxmemory", "1mb"]).await;
    let rights = town.client.ok("revoke", json!({ "identity_id": identity, "role": "reader", "context_id": context })).await;
    assert_eq!(rights["readers"], json!([]));
    town.client.ok("delete_context", json!({ "context_id": context })).await;
    let _: () = town.redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    is_gone(&town.redis, &town.client, context).await;
    town.server.stop().await;
}
