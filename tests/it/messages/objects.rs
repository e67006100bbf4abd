use hero::model::ErrorKind;
use hero::store::Settled;
use serde_json::json;

use super::*;
use crate::support::{Client, Server};

async fn open() -> (House, Server, Client) {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    (house, server, client)
}

#[tokio::test]
async fn a_message_has_the_fields_of_the_specification_and_then_others() {
    let (house, _server, client) = open().await;
    let job = json!({"id": 2001, "script": "40 + 2", "script_type": "osis", "env_vars": {"A": "1"}});
    let given = json!({
        "message": "do that", "address": "node:berlin", "topic": "runner20", "target_context": 2, "message_type": "job",
        "message_format_type": "md", "job": [job], "timeout_ack": 10, "timeout_result": 20, "caller_id": 12,
    });
    let sent = client.ok("send_message", given).await;
    assert_eq!((&sent["message_id"], &sent["status"], &sent["timeout"]), (&json!(1), &json!("dispatched"), &json!(30)));
    let hash: BTreeMap<String, String> = house.redis.run(&["HGETALL", "message:12:1"]).await;
    for (field, value) in [
        ("id", "1"),
        ("caller_id", "12"),
        ("context_id", "0"),
        ("message", "do that"),
        ("message_type", "job"),
        ("message_format_type", "md"),
        ("timeout", "30"),
        ("timeout_ack", "10"),
        ("timeout_result", "20"),
        ("logs", "[]"),
        ("status", "dispatched"),
        ("target_context", "2"),
        ("topic", "runner20"),
        ("address", "node:berlin"),
    ] {
        assert_eq!(hash[field], value, "{field}");
    }
    assert_eq!(serde_json::from_str::<serde_json::Value>(&hash["job"]).unwrap(), json!([job]));
    for field in ["created_at", "updated_at"] {
        assert!(hash[field].parse::<u32>().unwrap() > 1_700_000_000, "{field}");
    }
    let out: Vec<String> = house.redis.run(&["LRANGE", "msg_out", "0", "-1"]).await;
    assert_eq!(out, ["message:12:1"]);
    let ttl: i64 = house.redis.run(&["TTL", "message:12:1"]).await;
    assert!(ttl > 0);
    assert_eq!(client.ok("list_messages", json!({"list": "out"})).await["messages"][0]["message_id"], 1);
}

#[tokio::test]
async fn a_message_that_another_program_put_in_is_listed_and_acknowledged() {
    let (house, _server, client) = open().await;
    let _: i64 = house.redis.run(&["HSET", "message:12:900", "message", "hi", "message_type", "mail"]).await;
    let _: i64 = house.redis.run(&["LPUSH", "msg_in", "message:12:900"]).await;
    let listed = client.ok("list_messages", json!({})).await;
    assert_eq!((&listed["messages"][0]["message"], &listed["messages"][0]["message_type"]), (&json!("hi"), &json!("mail")));
    assert_eq!(client.ok("acknowledge_message", json!([12, 900])).await["status"], "acknowledged");
    assert_eq!(client.ok("list_messages", json!({})).await["messages"], json!([]));
    assert_eq!(client.ok("delete_message", json!([12, 900])).await, true);
    for method in ["get_message", "acknowledge_message", "delete_message"] {
        assert_eq!(client.fault(method, json!([12, 900])).await.code, 1011, "{method}");
    }
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let (house, _server, client) = open().await;
    for (params, code, part) in [
        (json!({"message": "x"}), -32602, "address: is missing"),
        (json!({"address": "redis://:secret@h"}), -32602, "node_redis"),
        (json!({"address": "here", "message_type": "result"}), -32602, "message_type: result is for the coordinator"),
        (json!({"address": "here", "message_type": "job"}), -32602, "1 to 64 jobs, not 0"),
        (json!({"address": "here", "message_type": "job", "job": [{"script": ""}]}), -32602, "job[0]: has no script"),
        (json!({"address": "here", "job": [{"script": "1"}]}), -32602, "only a message of type job has jobs"),
        (json!({"address": "here", "timeout_ack": 0}), -32602, "timeout_ack: is 1 to"),
        (json!({"address": "here", "message": "x".repeat((1 << 20) + 1)}), 1008, "message has 1048577 bytes"),
    ] {
        let fault = client.fault("send_message", params).await;
        assert!(fault.code == code && fault.message.contains(part) && !fault.message.contains("secret"), "{fault:?}");
    }
    // What is full takes nothing, and loses nothing.
    let many: Vec<String> = (0..10_000).map(|n| format!("message:1:{n}")).collect();
    let words: Vec<&str> = ["LPUSH", "msg_out"].into_iter().chain(many.iter().map(String::as_str)).collect();
    let _: i64 = house.redis.run(&words).await;
    let fault = client.fault("send_message", json!(["x", "here"])).await;
    assert!(fault.code == 1007 && fault.message.contains("msg_out"), "{fault:?}");
    let length: i64 = house.redis.run(&["LLEN", "msg_out"]).await;
    assert_eq!(length, 10_000);
}

#[tokio::test]
async fn messages_are_listed_by_status_page_by_page_whichever_way_they_go() {
    let (house, _server, client) = open().await;
    for n in 0..5 {
        client.ok("send_message", json!({"message": n.to_string(), "address": "here", "caller_id": 7 + n % 2})).await;
    }
    let listed = async |params: serde_json::Value| {
        let page = client.ok("list_messages", params).await;
        let names: Vec<String> =
            page["messages"].as_array().unwrap().iter().map(|one| one["message"].as_str().unwrap().to_owned()).collect();
        (names, page.get("next_cursor").cloned())
    };
    // All may have come in one millisecond, in which their order is that of their names.
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let (page, next) = listed(json!({"status": "dispatched", "limit": 2, "cursor": cursor})).await;
        assert!(page.len() <= 2);
        seen.extend(page);
        cursor = next;
        if cursor.is_none() {
            break;
        }
    }
    seen.sort();
    assert_eq!(seen, ["0", "1", "2", "3", "4"]);
    let settle = async |name: &str, outcome| house.store.settle_message("me", name.parse().unwrap(), &outcome).await.unwrap();
    settle("7:1", Settled::Failed(ErrorKind::Unavailable, "nobody knows the way".into())).await;
    settle("8:2", Settled::Stored(None)).await;
    assert_eq!(listed(json!({"status": "error"})).await.0, ["0"]);
    assert_eq!(listed(json!({"status": "acknowledged"})).await.0, ["1"]);
    assert_eq!(listed(json!({"status": "dispatched", "caller_id": 8})).await.0, ["3"]);
    assert_eq!(client.ok("list_messages", json!({"status": "error"})).await["messages"][0]["error"], "nobody knows the way");
    // What is gone is listed no more: that which was deleted, and that whose time is over.
    client.ok("delete_message", json!([8, 2])).await;
    let _: i64 = house.redis.run(&["DEL", "message:7:1"]).await;
    for status in ["acknowledged", "error"] {
        assert_eq!(listed(json!({"status": status})).await, (Vec::new(), None));
        let left: i64 = house.redis.run(&["EXISTS", &format!("hero:messages:{status}")]).await;
        assert_eq!(left, 0, "{status}");
    }
    let ttl: i64 = house.redis.run(&["TTL", "hero:messages:dispatched"]).await;
    assert!(ttl > 0);
    // What another program makes of the list is none, and gives way.
    let _: i64 = house.redis.run(&["DEL", "hero:messages:error"]).await;
    let _: i64 = house.redis.run(&["LPUSH", "hero:messages:error", "x"]).await;
    assert_eq!(listed(json!({"status": "error"})).await, (Vec::new(), None));
    settle("7:3", Settled::Failed(ErrorKind::Unavailable, "no".into())).await;
    assert_eq!(listed(json!({"status": "error"})).await.0, ["2"]);
    for params in [json!({"status": "error", "cursor": "x"}), json!({"status": "lost"})] {
        assert_eq!(client.fault("list_messages", params).await.code, -32602);
    }
}

#[tokio::test]
async fn of_very_many_messages_those_are_listed_that_got_their_status_last() {
    let (house, _server, client) = open().await;
    let old: Vec<String> = (0..10_000).flat_map(|n| [n.to_string(), format!("message:1:{n}")]).collect();
    let words: Vec<&str> = ["ZADD", "hero:messages:dispatched"].into_iter().chain(old.iter().map(String::as_str)).collect();
    let _: i64 = house.redis.run(&words).await;
    client.ok("send_message", json!(["x", "here"])).await;
    let many: i64 = house.redis.run(&["ZCARD", "hero:messages:dispatched"]).await;
    assert_eq!(many, 10_000);
    assert_eq!(client.ok("list_messages", json!({"status": "dispatched", "limit": 1})).await["messages"][0]["message"], "x");
}
