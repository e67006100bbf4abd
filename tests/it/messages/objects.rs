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
