//! Invalid data that other programs wrote.

use serde_json::json;

use super::trust::{boxes, deliver, envelope};
use super::*;
use crate::support::Server;

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_are_none_stop_neither_results_nor_logs() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    // Nobody runs jobs there.
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let first = a.send(jobs(&["1"], &b.redis().url())).await;
    let second = a.send(Draft { job: vec![json!({"id": 3001, "script": "1"}).into()], ..jobs(&[], &b.redis().url()) }).await;
    for key in [first, second] {
        a.becomes(key, MessageStatus::Acknowledged).await;
    }
    let _: i64 = b.redis().run(&["HSET", "job:12:2001", "status", "finished", "result", r#"{"output":1e999}"#]).await;
    let _: i64 =
        b.redis().run(&["HSET", "job:12:3001", "status", "error", "result", r#"{"error":[1,-1e999]}"#, "origin_id", "1e999"]).await;
    for key in [first, second] {
        a.becomes(key, MessageStatus::Processed).await;
    }
    // A log that cannot be written again.
    let redis = a.redis();
    let now: Vec<String> = redis.run(&["TIME"]).await;
    let fields = ["address", "node:berlin", "created_at", &now[0], "logs", r#"[{"time":1e999,"text":"x"}]"#];
    let _: i64 = redis.run(&[&["HSET", "message:12:900"][..], &fields].concat()).await;
    let _: i64 = redis.run(&["LPUSH", "msg_out", "message:12:900"]).await;
    let logs = until("its log", || async { a.hash("message:12:900").await.remove("logs").filter(|logs| logs.contains("berlin")) }).await;
    assert!(!logs.contains("\"x\""), "{logs}");
}

#[tokio::test(flavor = "multi_thread")]
async fn elements_that_are_no_names_hide_no_jobs() {
    let key = NodeKey::random();
    let town = Town::open(&key, Plan::new(1)).await;
    let redis = town.redis();
    // A name that was put there first is there before its message.
    let _: i64 = redis.run(&["LPUSH", "msg_in", "message:3:1"]).await;
    for n in 0..200 {
        let _: i64 = redis.run(&["RPUSH", "msg_in", &format!("nonsense {n}")]).await;
        let chat = format!("message:3:{}", 100 + n);
        let _: i64 = redis.run(&["HSET", &chat, "message_type", "chat"]).await;
        // It is listed once, however often it stands there.
        for _ in 0..if n == 10 { 2 } else { 1 } {
            let _: i64 = redis.run(&["LPUSH", "msg_in", &chat]).await;
        }
    }
    let _: i64 = redis.run(&["HSET", "message:3:2", "message_type", "job", "job", r#"[{"id":2,"script":"2"}]"#]).await;
    let _: i64 = redis.run(&["LPUSH", "msg_in", "message:3:2"]).await;
    let _: i64 = redis.run(&["HSET", "message:3:1", "message_type", "job", "job", r#"[{"id":1,"script":"1"}]"#]).await;
    for n in ["1", "2"] {
        until("its result", || async {
            let result: Option<String> = redis.run(&["HGET", &format!("job:3:{n}"), "result"]).await;
            (result? == format!(r#"{{"output":"{n}"}}"#)).then_some(())
        })
        .await;
    }
    // Each page has its place, however little of it can be shown.
    let (mut found, mut cursor) = (0, None);
    loop {
        let page = town.messages.list(CONTEXT, hero::model::MessageList::In, None, cursor.as_deref(), 100).await.unwrap();
        found += page.messages.len();
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(found, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_written_otherwise_do_not_stay_in_hand() {
    let key = NodeKey::random();
    let town = Town::open(&key, Plan::new(0)).await;
    let redis = town.redis();
    for name in ["message:012:1", "message:12:99999999999"] {
        let _: i64 = redis.run(&["HSET", name, "address", "here"]).await;
        let _: i64 = redis.run(&["LPUSH", "msg_out", name]).await;
    }
    let sent = town.send(chat("x", "here")).await;
    town.becomes(sent, MessageStatus::Acknowledged).await;
    let left: i64 = redis.run(&["EXISTS", "msg_out", "hero:q:resting"]).await;
    assert!(left == 0 && town.in_hand().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_cannot_be_sent_now_is_sent_later() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(1).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    let hand = until("its hand", || async { b.hands().await.pop() }).await;
    let _: String = b.redis().run(&["SET", "msg_out", "x"]).await;
    let key = a.send(jobs(&["#{n: 40 + 2}"], &b.redis().url())).await;
    let waits = || async { (b.redis().run::<i64>(&["LLEN", "hero:q:results"]).await == 1).then_some(()) };
    until("its result waits", waits).await;
    // Rounds that find no room for it leave it where it is.
    for _ in 0..2 {
        let looked = || async { b.redis().run::<String>(&["ZSCORE", "hero:meta:nodes", &hand]).await };
        let before = looked().await;
        until("a round", || async { (looked().await != before).then_some(()) }).await;
    }
    waits().await.unwrap();
    let _: i64 = b.redis().run(&["DEL", "msg_out"]).await;
    a.becomes(key, MessageStatus::Processed).await;
    let said = a.hash(&a.came(1).await[0]).await.remove("message").unwrap();
    assert!(said.contains("\"format\":\"json\""), "{said}");
}

#[tokio::test]
async fn a_key_that_is_no_list_is_named() {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    for (key, method, params) in [
        ("msg_out", "send_message", json!(["x", "here"])),
        ("msg_out", "list_messages", json!({"list": "out"})),
        ("msg_in", "list_messages", json!({})),
    ] {
        let _: String = house.redis.run(&["SET", key, "x"]).await;
        let fault = client.fault(method, params).await;
        assert!(fault.code == 1007 && fault.message.contains(&format!("the key {key} of context 0 is no list")), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_nonce_stops_no_envelopes_and_what_is_no_text_neither() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let town = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let code = "for n = 1, 100 do redis.call('ZADD', KEYS[1], 0, string.char(255, n)) end \
        for n = 1, 40 do redis.call('ZADD', KEYS[1], 0, 'n' .. n) redis.call('SET', 'hero:bus:letter:in:n' .. n, string.char(255, n)) end";
    let _: Option<String> = town.redis().run(&["EVAL", code, "1", "hero:bus:box:in"]).await;
    assert!(deliver(&boxes(&town, &one).await, &envelope(&one, &two, "right")).await.is_stored());
    until("an empty box", || async { (town.redis().run::<i64>(&["EXISTS", "hero:bus:box:in"]).await == 0).then_some(()) }).await;
}
