//! Messages in idle contexts.

use hero::coordinator::bus::{Boxes, Bus};
use hero::coordinator::envelope::Envelope;

use super::trust::envelope;
use super::*;
use crate::support::{PATIENCE, Process};

/// A Redis in which another server has made ten contexts.
async fn with_contexts() -> Redis {
    let redis = Redis::start().await;
    for context in 1..=10 {
        let context = context.to_string();
        let _: i64 = redis.run(&["ZADD", "hero:access:contexts", &context, &context]).await;
    }
    let _: String = redis.run(&["SET", "hero:seq:context", "10"]).await;
    let _: i64 = redis.run(&["HINCRBY", "hero:meta:access", "revision", "10"]).await;
    redis
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_sleeps_gets_an_envelope_over_redis_and_its_job_runs() {
    let (redis, home, key) = (with_contexts().await, tempfile::tempdir().unwrap(), NodeKey::random());
    let nodes = format!("a={}", key.public());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "osis=1", "--nodes", &nodes]).await;
    let boxes = Boxes::connect(&redis.endpoint(), ContextId(7), key.public().to_string()).await.unwrap();
    let job = r#"[{"id":2001,"script":"CONTEXT_ID","script_type":"osis"}]"#.to_owned();
    let info: serde_json::Value = server.client().await.call_named("server_info", serde_json::json!({})).await.unwrap();
    let to = Some(info["node_key"].as_str().unwrap().parse().unwrap());
    let mut envelope = Envelope { message_type: MessageType::Job, target_context: ContextId(7), job, to, ..envelope(&key, &key, "a") };
    key.sign(&mut envelope);
    let receipt = boxes.deliver(Boxes::IN, &envelope, None, PATIENCE).await.unwrap();
    assert!(receipt.is_stored(), "{receipt:?}");
    until("its job has run", || async {
        let result: Option<String> = redis.run_in(7, &["HGET", "job:12:2001", "result"]).await;
        (result? == r#"{"output":"7"}"#).then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_context_that_sleeps_has_to_send_is_sent() {
    let (redis, home) = (with_contexts().await, tempfile::tempdir().unwrap());
    let now: Vec<String> = redis.run(&["TIME"]).await;
    for context in [3, 4] {
        let _: i64 = redis.run_in(context, &["HSET", "message:12:5", "message", "x", "address", "here", "created_at", &now[0]]).await;
    }
    // One rests, and one a node has in hand that is gone.
    let _: i64 = redis.run_in(3, &["ZADD", "hero:q:resting", "1000", "message:12:5"]).await;
    let _: i64 = redis.run_in(4, &["LPUSH", "msg_out:sending:dead", "message:12:5"]).await;
    let _: i64 = redis.run_in(4, &["ZADD", "hero:meta:nodes", "1000", "dead"]).await;
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "osis=1"]).await;
    for context in [3, 4] {
        until("it was sent", || async {
            let status: Option<String> = redis.run_in(context, &["HGET", "message:12:5", "status"]).await;
            (status? == "acknowledged").then_some(())
        })
        .await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_message_that_another_program_puts_into_msg_in_of_a_context_that_sleeps_becomes_a_job() {
    let (redis, home) = (with_contexts().await, tempfile::tempdir().unwrap());
    let server = Process::serve(home.path(), &["--redis", &redis.url(), "--pool", "osis=1"]).await;
    let job = r#"[{"id":5,"script":"CONTEXT_ID"}]"#;
    let _: i64 = redis.run_in(6, &["HSET", "message:3:7", "message_type", "job", "job", job]).await;
    let _: i64 = redis.run_in(6, &["LPUSH", "msg_in", "message:3:7"]).await;
    until("its job has run", || async {
        let result: Option<String> = redis.run_in(6, &["HGET", "job:3:5", "result"]).await;
        (result? == r#"{"output":"6"}"#).then_some(())
    })
    .await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_alone_are_nothing_that_is_due_and_one_that_rests_wants_no_server_yet() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let databases = store.contexts().databases().unwrap().unwrap();
    let pending = async |context: u32| {
        let looked = databases.pending(&[ContextId(context)], &[]).await.unwrap();
        let pending = looked[0].1.as_ref().unwrap();
        (pending.due, pending.messages)
    };
    let _: i64 = redis.run_in(1, &["ZADD", "hero:q:answers", "1000", "job:3:5"]).await;
    let _: i64 = redis.run_in(2, &["ZADD", "hero:q:messages", "1000", "message:12:5"]).await;
    let _: i64 = redis.run_in(3, &["LPUSH", "hero:q:results", "job:3:5 x"]).await;
    for context in 1..=3 {
        assert_eq!(pending(context).await, (None, Some(hero::model::Timestamp::from_millis(0))), "context {context}");
    }
    let later = store.clock().now().plus(std::time::Duration::from_secs(3600)).as_millis();
    let _: i64 = redis.run_in(4, &["ZADD", "hero:q:resting", &later.to_string(), "message:12:5"]).await;
    let _: i64 = redis.run_in(5, &["HSET", "message:3:9", "message_type", "mail"]).await;
    let _: i64 = redis.run_in(5, &["LPUSH", "msg_in", "message:3:9", "nothing"]).await;
    // A server that opens the context for it takes a while.
    assert_eq!(pending(4).await, (None, Some(hero::model::Timestamp::from_millis(later - 5000))));
    for context in 5..=6 {
        assert_eq!(pending(context).await, (None, None), "context {context}");
    }
}
