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
    let settle = async |name: &str, outcome| house.store.messages().settle("me", name.parse().unwrap(), &outcome).await.unwrap();
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
    assert_eq!(client.fault("list_messages", json!({"status": "lost"})).await.code, -32602);
}

/// All messages that pages of 20 have, each page of which is acknowledged before the next one is asked for.
async fn acknowledged_page_by_page(client: &Client, list: serde_json::Value) -> Vec<u64> {
    let (mut seen, mut cursor) = (Vec::new(), None);
    loop {
        let mut params = list.clone();
        params["limit"] = json!(20);
        params["cursor"] = json!(cursor);
        let page = client.ok("list_messages", params).await;
        for message in page["messages"].as_array().unwrap() {
            let name = json!([message["caller_id"], message["message_id"]]);
            assert_eq!(client.ok("acknowledge_message", name).await["status"], "acknowledged");
            seen.push(message["message_id"].as_u64().unwrap());
        }
        cursor = page.get("next_cursor").map(|cursor| cursor.as_str().unwrap().to_owned());
        if cursor.is_none() {
            return seen;
        }
    }
}

#[tokio::test]
async fn no_message_of_a_status_is_left_out_when_those_of_earlier_pages_get_another() {
    let (house, _server, client) = open().await;
    // All of one millisecond, and of more than are read again at first, with what others put between them.
    for n in 100..400 {
        let name = format!("message:3:{n}");
        let _: i64 = house.redis.run(&["HSET", &name, "status", "dispatched", "message", "x"]).await;
        let _: i64 = house.redis.run(&["ZADD", "hero:messages:dispatched", "1763000000000", &name]).await;
        if n < 150 {
            let _: i64 = house.redis.run(&["ZADD", "hero:messages:dispatched", "1763000000000", &format!("message:3:{n}x")]).await;
        }
    }
    let expected: Vec<u64> = (100..400).rev().collect();
    // Of those that stay none is left out, nor shown twice.
    let (mut seen, mut cursor) = (Vec::new(), None::<serde_json::Value>);
    loop {
        let page = client.ok("list_messages", json!({"status": "dispatched", "limit": 50, "cursor": cursor})).await;
        seen.extend(page["messages"].as_array().unwrap().iter().map(|message| message["message_id"].as_u64().unwrap()));
        cursor = page.get("next_cursor").cloned();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(seen, expected);
    let left: i64 = house.redis.run(&["ZCARD", "hero:messages:dispatched"]).await;
    assert_eq!(left, 300, "what is no name is taken out");
    // One that is gone goes while its page is made.
    let _: i64 = house.redis.run(&["DEL", "message:3:390"]).await;
    let seen = acknowledged_page_by_page(&client, json!({"status": "dispatched"})).await;
    assert_eq!(seen, expected.into_iter().filter(|n| *n != 390).collect::<Vec<u64>>());
}

#[tokio::test]
async fn no_message_of_a_list_is_left_out_when_those_of_earlier_pages_leave_it() {
    let (house, _server, client) = open().await;
    for n in 100..160 {
        let name = format!("message:3:{n}");
        let _: i64 = house.redis.run(&["HSET", &name, "message_type", "chat", "message", "x"]).await;
        let _: i64 = house.redis.run(&["LPUSH", "msg_in", &name]).await;
        let _: i64 = house.redis.run(&["LPUSH", "msg_in", "nonsense"]).await;
    }
    let page = client.ok("list_messages", json!({"limit": 20})).await;
    // The one that the next page was to begin with is gone, and what comes there had been shown, or not.
    let next = page["next_cursor"].as_str().unwrap().to_owned();
    assert_eq!(next, "20-3:110");
    let _: i64 = house.redis.run(&["LREM", "msg_in", "0", "message:3:110"]).await;
    let again = client.ok("list_messages", json!({"limit": 20, "cursor": next})).await;
    assert_eq!(again["messages"][0]["message_id"], 100);
    let expected: Vec<u64> = (100..160).filter(|n| *n != 110).collect();
    assert_eq!(acknowledged_page_by_page(&client, json!({})).await, expected);
    // A name that stands there twice holds up nobody.
    for name in ["message:3:100", "message:3:101", "message:3:100", "message:3:102"] {
        let _: i64 = house.redis.run(&["LPUSH", "msg_out", name]).await;
    }
    let (mut seen, mut cursor) = (Vec::new(), None::<serde_json::Value>);
    for _ in 0..4 {
        let page = client.ok("list_messages", json!({"list": "out", "limit": 1, "cursor": cursor})).await;
        seen.push(page["messages"][0]["message_id"].as_u64().unwrap());
        cursor = page.get("next_cursor").cloned();
    }
    assert_eq!((seen, cursor), (vec![100, 101, 100, 102], None));
}

#[tokio::test]
async fn what_is_no_cursor_of_a_list_of_messages_is_refused() {
    let (_house, _server, client) = open().await;
    for cursor in ["x", "", "1-18446744073709551615", "1-", "-1", "NaN-1:2", "1-01:2", "1-message:1:2", "1e3-1:2", "99999999999999999999"] {
        for list in [json!({"status": "error", "cursor": cursor}), json!({"cursor": cursor})] {
            let fault = client.fault("list_messages", list).await;
            assert!(fault.code == -32602 && fault.message.contains("is not a cursor"), "{cursor}: {fault:?}");
        }
    }
    // Of the other kind of list.
    assert_eq!(client.fault("list_messages", json!({"status": "error", "cursor": "20"})).await.code, -32602);
    for cursor in ["1763000000000-12:101", "inf-0:0", "-1.5-4294967295:4294967295"] {
        assert_eq!(client.ok("list_messages", json!({"status": "error", "cursor": cursor})).await["messages"], json!([]));
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
