//! Other Redis servers that do not answer, or are no longer needed.

use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Accepts connections, and never sends anything. Returns its port, which is open on each address of this machine.
async fn silent() -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut connections: Vec<TcpStream> = Vec::new();
        while let Ok((connection, _)) = listener.accept().await {
            connections.push(connection);
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn runners_and_nodes_that_do_not_answer_keep_out_no_other_message() {
    let (one, two, port) = (NodeKey::random(), NodeKey::random(), silent().await);
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan::new(0)).await;
    for host in 1..=40 {
        a.runner_at(&format!("redis://127.0.0.{host}:{port}"), &two).await;
    }
    // More than a node has in hand at once, to a few places and to many.
    for n in 0..300 {
        let host = if n < 200 { 1 } else { n - 199 };
        a.send(Draft { timeout_ack: 3600, ..chat("x", &format!("redis://127.0.0.{host}:{port}")) }).await;
    }
    let key = a.send(chat("y", &b.redis().url())).await;
    a.becomes(key, MessageStatus::Acknowledged).await;
    assert_eq!(b.came(1).await, [key.to_string()]);
    // The others wait, and are seen.
    let listed = a.messages.list(CONTEXT, hero::model::MessageList::Out, None, None, 200).await.unwrap();
    assert_eq!(listed.messages.len(), 200);
    let rest = a.messages.list(CONTEXT, hero::model::MessageList::Out, None, listed.next_cursor.as_deref(), 200).await.unwrap();
    assert!(!rest.messages.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_to_a_node_that_does_not_answer_is_in_error_when_its_time_is_over() {
    let (one, port) = (NodeKey::random(), silent().await);
    let a = Town::open(&one, Plan::new(0)).await;
    let mut keys = Vec::new();
    for _ in 0..200 {
        keys.push(a.send(Draft { timeout_ack: 1, ..chat("x", &format!("redis://127.0.0.1:{port}")) }).await);
    }
    for key in keys {
        let error = until("its error", || async { a.messages.get(CONTEXT, key).await.unwrap().error }).await;
        assert!(error.contains("within 1 s (timeout_ack)"), "{error}");
    }
    let left: i64 = a.redis().run(&["EXISTS", "msg_out", "hero:q:resting"]).await;
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_be_sent_is_sent_while_memory_is_full() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let (house, url) = (House::empty().await, b.redis().url());
    let redis = &house.redis;
    // There is a runner elsewhere, whose jobs would need room.
    let runner = ["HSET", "runner:1", "id", "1", "local", "false", "type", "osis", "topic", "runner1", "address", "redis://127.0.0.1:1"];
    let _: i64 = redis.run(&runner).await;
    let _: i64 = redis.run(&["ZADD", "hero:meta:runners", "1", "1"]).await;
    let now: Vec<String> = redis.run(&["TIME"]).await;
    let fields = ["message", "x", "address", &url, "created_at", &now[0], "nonce", "5f0c2b8e9a417d36"];
    let _: i64 = redis.run(&[&["HSET", "message:12:5"][..], &fields].concat()).await;
    let _: i64 = redis.run(&["LPUSH", "msg_out", "message:12:5"]).await;
    let _: String = redis.run(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let a = Town::over(house, &one, Plan::new(0));
    a.becomes(MessageKey { caller_id: 12, message_id: 5 }, MessageStatus::Acknowledged).await;
}

/// The number of connections to a Redis, without the one that asks.
async fn connections(redis: &Redis) -> usize {
    redis.run::<String>(&["CLIENT", "LIST"]).await.lines().count() - 1
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_nobody_uses_is_closed_and_one_over_which_a_result_is_to_come_is_not() {
    let (one, two) = (NodeKey::random(), NodeKey::random());
    // Nobody runs jobs there.
    let b = Town::open(&two, Plan::new(0).trusting(&one)).await;
    let a = Town::open(&one, Plan { kept: Duration::from_secs(3), ..Plan::new(0) }).await;
    let asked = a.send(jobs(&["1"], &b.redis().url())).await;
    a.becomes(asked, MessageStatus::Acknowledged).await;
    // Nobody is there.
    let other = Redis::start().await;
    a.send(Draft { timeout_ack: 1, ..chat("x", &other.url()) }).await;
    until("a connection", || async { (connections(&other).await > 0).then_some(()) }).await;
    until("its end", || async { (connections(&other).await == 0).then_some(()) }).await;
    let _: i64 = b.redis().run(&["HSET", "job:12:2001", "status", "finished", "result", r#"{"output":"late"}"#]).await;
    a.becomes(asked, MessageStatus::Processed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_meanwhile_does_not_count_against_a_place_that_keeps_silent() {
    let (key, port) = (NodeKey::random(), silent().await);
    let a = Town::open(&key, Plan::new(0)).await;
    let sent = a.send(Draft { timeout_ack: 3600, ..chat("x", &format!("redis://127.0.0.1:{port}")) }).await;
    until("an attempt", || async { (a.in_hand().await == [sent.to_string()]).then_some(()) }).await;
    let _: i64 = a.redis().run(&["HSET", &sent.to_string(), "status", "acknowledged"]).await;
    until("its end", || async { a.in_hand().await.is_empty().then_some(()) }).await;
    assert_eq!(a.hash(&sent.to_string()).await["logs"], "[]");
}
