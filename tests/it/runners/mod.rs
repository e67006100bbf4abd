//! Runner objects, as clients and other programs see them.

mod local;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::support::{Client, House, Redis, Server, until};

const KEY: &str = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";

async fn open() -> (House, Server, Client) {
    let house = House::empty().await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    (house, server, client)
}

async fn hash(house: &House, key: &str) -> BTreeMap<String, String> {
    house.redis.run(&["HGETALL", key]).await
}

#[tokio::test]
async fn a_runner_has_the_fields_of_the_specification_and_then_others() {
    let (house, _server, client) = open().await;
    let given = json!({
        "script_type": "v", "local": false, "address": "redis://10.0.0.7:6379/2", "pubkey": KEY, "target_context": 2, "name": "far",
    });
    let made = client.ok("create_runner", given).await;
    assert_eq!((&made["runner_id"], &made["topic"]), (&json!(1), &json!("runner1")));
    let fields: Vec<String> = house.redis.run(&["HKEYS", "runner:1"]).await;
    let expected = ["id", "pubkey", "address", "topic", "local", "created_at", "updated_at", "type", "name", "target_context"];
    assert_eq!(fields, expected);
    let hash = hash(&house, "runner:1").await;
    for (field, value) in [
        ("id", "1"),
        ("pubkey", KEY),
        ("address", "redis://10.0.0.7:6379/2"),
        ("topic", "runner1"),
        ("local", "false"),
        ("type", "v"),
        ("name", "far"),
        ("target_context", "2"),
    ] {
        assert_eq!(hash[field], value, "{field}");
    }
    for field in ["created_at", "updated_at"] {
        let seconds: u32 = hash[field].parse().unwrap();
        assert!(seconds > 1_700_000_000, "{field}");
    }
    // A local one needs nothing but its type.
    client.ok("create_runner", json!(["osis"])).await;
    let hash = self::hash(&house, "runner:2").await;
    assert_eq!((&*hash["local"], &*hash["pubkey"], &*hash["address"], &*hash["topic"]), ("true", "", "", "runner2"));
}

#[tokio::test]
async fn a_runner_is_changed_listed_and_deleted_and_its_number_is_not_given_again() {
    let (house, _server, client) = open().await;
    for _ in 0..3 {
        client.ok("create_runner", json!(["osis"])).await;
    }
    let changed = client.ok("update_runner", json!({"runner_id": 2, "name": "b", "topic": "other"})).await;
    assert_eq!((&changed["name"], &changed["topic"], &changed["script_type"]), (&json!("b"), &json!("other"), &json!("osis")));
    assert_eq!(client.ok("get_runner", json!([2])).await, changed);
    let page = client.ok("list_runners", json!({"limit": 2})).await;
    assert_eq!((page["runners"].as_array().unwrap().len(), &page["next_cursor"]), (2, &json!("2")));
    let rest = client.ok("list_runners", json!({"cursor": "2"})).await;
    assert_eq!((&rest["runners"][0]["runner_id"], rest.get("next_cursor")), (&json!(3), None));
    assert_eq!(client.ok("delete_runner", json!([3])).await, true);
    assert_eq!(client.fault("get_runner", json!([3])).await.code, 1011);
    assert_eq!(client.fault("delete_runner", json!([3])).await.code, 1011);
    assert_eq!(client.ok("create_runner", json!(["osis"])).await["runner_id"], 4);
    let there: i64 = house.redis.run(&["EXISTS", "runner:3"]).await;
    assert_eq!(there, 0);
}

#[tokio::test]
async fn a_number_of_another_program_uses_up_none_of_those_of_runners_and_none_that_is_no_runner_does() {
    const LAST_NUMBER: u32 = 4_294_967_295;
    let (house, _server, client) = open().await;
    let made = async || client.ok("create_runner", json!(["osis"])).await["runner_id"].as_u64().unwrap();
    assert_eq!(client.fault("delete_runner", json!([LAST_NUMBER])).await.code, 1011);
    assert_eq!(made().await, 1);
    let foreign = async |number: u32| {
        let _: i64 = house.redis.run(&["HSET", &format!("runner:{number}"), "id", &number.to_string(), "type", "osis"]).await;
        client.ok("update_runner", json!({ "runner_id": number, "name": "theirs" })).await;
    };
    foreign(LAST_NUMBER).await;
    foreign(4).await;
    // Which numbers were given is lost.
    let _: i64 = house.redis.run(&["DEL", "hero:seq:runner"]).await;
    assert_eq!(made().await, 2);
    client.ok("delete_runner", json!([LAST_NUMBER])).await;
    client.ok("delete_runner", json!([4])).await;
    assert_eq!((made().await, made().await), (3, 5), "nor is one given that another program's runner had");
    let _: String = house.redis.run(&["SET", "hero:seq:runner", &(LAST_NUMBER - 2).to_string()]).await;
    assert_eq!(made().await, u64::from(LAST_NUMBER - 1));
    let fault = client.fault("create_runner", json!(["osis"])).await;
    assert!(fault.message.contains("no free runner numbers"), "{fault:?}");
}

#[tokio::test]
async fn there_are_no_more_runners_than_may_be_whoever_wrote_them() {
    let (house, _server, client) = open().await;
    client.ok("create_runner", json!(["osis"])).await;
    let script = "for number = 2, 10000 do redis.call('ZADD', 'hero:meta:runners', number, number) end";
    let _: Option<String> = house.redis.run(&["EVAL", script, "0"]).await;
    let _: i64 = house.redis.run(&["HSET", "runner:20000", "id", "20000", "type", "osis"]).await;
    for (method, params) in [("create_runner", json!(["osis"])), ("update_runner", json!({ "runner_id": 20000, "name": "theirs" }))] {
        let fault = client.fault(method, params).await;
        assert!(fault.code == 1007 && fault.message.contains("already has 10,000 runners"), "{method}: {fault:?}");
    }
    assert_eq!(client.ok("update_runner", json!({ "runner_id": 1, "name": "ours" })).await["name"], "ours");
}

#[tokio::test]
async fn runners_that_are_gone_and_what_is_none_hide_no_others_in_lists() {
    let (house, _server, client) = open().await;
    for _ in 0..6 {
        client.ok("create_runner", json!(["osis"])).await;
    }
    let _: i64 = house.redis.run(&["DEL", "runner:2", "runner:3", "runner:4"]).await;
    let _: i64 = house.redis.run(&["ZADD", "hero:meta:runners", "4.5", "x", "4.75", "y"]).await;
    for limit in 1..=4 {
        let (mut seen, mut cursor) = (Vec::new(), None::<Value>);
        loop {
            let page = client.ok("list_runners", json!({"limit": limit, "cursor": cursor})).await;
            seen.extend(page["runners"].as_array().unwrap().iter().map(|runner| runner["runner_id"].as_u64().unwrap()));
            cursor = page.get("next_cursor").cloned();
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(seen, [1, 5, 6], "pages of {limit}");
    }
}

#[tokio::test]
async fn each_change_of_a_runner_raises_the_revision() {
    let (house, _server, client) = open().await;
    let mut before = house.store.runners().revision().await.unwrap();
    for (method, params) in
        [("create_runner", json!(["osis"])), ("update_runner", json!({"runner_id": 1, "local": true})), ("delete_runner", json!([1]))]
    {
        client.ok(method, params).await;
        let now = house.store.runners().revision().await.unwrap();
        assert!(now > before, "{method}");
        before = now;
    }
    client.fault("delete_runner", json!([1])).await;
    client.ok("list_runners", json!({})).await;
    assert_eq!(house.store.runners().revision().await.unwrap(), before);
}

#[tokio::test]
async fn a_change_after_a_failover_that_lost_one_is_seen() {
    let (house, _server, client) = open().await;
    client.ok("create_runner", json!(["osis"])).await;
    let kept: String = house.redis.run(&["HGET", "hero:meta:revisions", "runners"]).await;
    client.ok("update_runner", json!({"runner_id": 1, "local": true})).await;
    let seen = house.store.runners().revision().await.unwrap();
    // The replica that takes over has not got that one.
    let _: i64 = house.redis.run(&["HSET", "hero:meta:revisions", "runners", &kept]).await;
    client.ok("update_runner", json!({"runner_id": 1, "local": false, "address": "redis://10.0.0.7:6379"})).await;
    assert_ne!(house.store.runners().revision().await.unwrap(), seen, "servers that have seen this one would not look again");
}

#[tokio::test]
async fn where_the_revision_is_spoilt_any_runner_may_have_changed() {
    // Nobody mends it here.
    let redis = Redis::start().await;
    let store = redis.store().await;
    let topic: hero::model::Name = "osis".parse().unwrap();
    assert_eq!(store.runners().revision().await.unwrap(), Some(0), "no runner was made yet");
    for spoil in [["HSET", "hero:meta:revisions", "runners", "x"].as_slice(), &["SET", "hero:meta:revisions", "x"]] {
        let _: u64 = redis.run(&["DEL", "hero:meta:revisions"]).await;
        redis.run::<redis::Value>(spoil).await;
        assert_eq!(store.runners().revision().await.unwrap(), None, "{spoil:?}");
        assert!(!store.runners().has_for_topic(&topic).await.unwrap());
        // The revision does not say that this one comes and goes.
        let _: i64 = redis.run(&["HSET", "runner:1", "id", "1", "type", "osis", "local", "true"]).await;
        let _: i64 = redis.run(&["ZADD", "hero:meta:runners", "1", "1"]).await;
        let began = std::time::Instant::now();
        until("it is seen", async || store.runners().has_for_topic(&topic).await.unwrap().then_some(())).await;
        let _: u64 = redis.run(&["DEL", "runner:1", "hero:meta:runners"]).await;
        until("it is seen that it has gone", async || (!store.runners().has_for_topic(&topic).await.unwrap()).then_some(())).await;
        // Where a revision says that none has changed, they are read each minute.
        assert!(began.elapsed() < std::time::Duration::from_secs(50));
    }
}

#[tokio::test]
async fn invalid_runner_changes_are_refused_and_change_nothing() {
    let (house, _server, client) = open().await;
    client.ok("create_runner", json!(["osis"])).await;
    let before = hash(&house, "runner:1").await;
    for (method, params, part) in [
        ("create_runner", json!({"script_type": "osis", "local": false}), "address: a runner that is not local needs one"),
        ("update_runner", json!({"runner_id": 1, "local": false}), "address: a runner that is not local needs one"),
        ("update_runner", json!({"runner_id": 1, "address": "redis://:secret@host"}), "node_redis"),
        ("update_runner", json!({"runner_id": 1, "address": "nowhere"}), "is no address"),
        ("update_runner", json!({"runner_id": 1, "pubkey": "12"}), "is no public key of a signer"),
        ("update_runner", json!({"runner_id": 1, "topic": "a b"}), "is not a name"),
        ("update_runner", json!({"runner_id": 1, "name": "x".repeat(257)}), "name: has 257 bytes"),
        ("create_runner", json!({"script_type": "a b"}), "script_type"),
        ("list_runners", json!({"cursor": "x"}), "is not a cursor"),
        ("list_runners", json!({"cursor": "NaN"}), "is not a cursor"),
    ] {
        let fault = client.fault(method, params.clone()).await;
        assert!(fault.code == -32602 && fault.message.contains(part) && !fault.message.contains("secret"), "{params}: {fault:?}");
    }
    assert_eq!(client.fault("update_runner", json!({"runner_id": 9, "name": "x"})).await.code, 1011);
    assert_eq!(hash(&house, "runner:1").await, before);
}

#[tokio::test]
async fn runners_of_other_programs_are_read_and_their_numbers_are_left_to_them() {
    let (house, _server, client) = open().await;
    let _: i64 = house.redis.run(&["HSET", "runner:2", "id", "2", "topic", "runner2", "local", "1", "type", "python"]).await;
    let read = client.ok("get_runner", json!([2])).await;
    assert_eq!((&read["local"], &read["script_type"]), (&json!(true), &json!("python")));
    let numbers: Vec<Value> = vec![
        client.ok("create_runner", json!(["osis"])).await["runner_id"].clone(),
        client.ok("create_runner", json!(["osis"])).await["runner_id"].clone(),
    ];
    assert_eq!(numbers, [1, 3]);
    // What somebody makes of the keys gives way.
    for key in ["hero:seq:runner", "hero:meta:revisions", "hero:meta:runners"] {
        let _: i64 = house.redis.run(&["DEL", key]).await;
        let _: i64 = house.redis.run(&["LPUSH", key, "x"]).await;
    }
    assert_eq!(client.ok("create_runner", json!(["osis"])).await["runner_id"], 4);
    assert_eq!(house.store.runners().get(hero::model::RunnerId(4)).await.unwrap().unwrap().topic.as_str(), "runner4");
    let _: i64 = house.redis.run(&["LPUSH", "runner:9", "x"]).await;
    let fault = client.fault("get_runner", json!([9])).await;
    assert_eq!((fault.code, &fault.data["key"]), (1009, &json!("runner:9")), "{fault:?}");
}

#[tokio::test]
async fn a_runner_here_is_of_a_script_type_that_is_known_here_and_one_elsewhere_of_any() {
    let (_house, _server, client) = open().await;
    let refused = client.fault("create_runner", json!(["cobol"])).await;
    assert!(refused.code == 1003 && refused.message.contains("cobol") && refused.message.contains("osis"), "{refused:?}");
    let far = json!({ "script_type": "cobol", "local": false, "address": "redis://10.0.0.7:6379" });
    assert_eq!(client.ok("create_runner", far).await["script_type"], "cobol");
    // So are its jobs, and no others: who asks why one does not run hears of the runner.
    client.ok("create_job", json!({ "script": "1", "script_type": "cobol", "group": "runner1" })).await;
    for wrong in [json!({ "script": "1", "script_type": "cobol" }), json!({ "script": "1", "script_type": "algol", "group": "runner1" })] {
        assert_eq!(client.fault("create_job", wrong.clone()).await.code, 1003, "{wrong}");
    }
    for (group, told) in [
        ("runner1", "runner 1 runs jobs of cobol, and this one is of osis"),
        ("runner7", "the job is for runner 7, and context 0 has none with that number"),
    ] {
        let job = client.ok("create_job", json!({ "script": "1", "group": group })).await;
        client.ok("start_job", json!([job])).await;
        let why = client.ok("explain_job", json!([job])).await;
        assert_eq!((why["reason"].as_str(), why["message"].as_str()), (Some("no_live_actor"), Some(told)));
    }
    // Nor does one become so later.
    assert_eq!(client.fault("update_runner", json!({ "runner_id": 1, "local": true })).await.code, 1003);
    client.ok("update_runner", json!({ "runner_id": 1, "local": true, "script_type": "osis" })).await;
    assert_eq!(client.fault("update_runner", json!({ "runner_id": 1, "script_type": "cobol" })).await.code, 1003);
    assert_eq!(client.ok("update_runner", json!({ "runner_id": 1, "name": "near" })).await["script_type"], "osis");
}

#[tokio::test]
async fn who_waits_for_a_flow_is_told_that_the_runner_of_a_job_is_gone() {
    let (_house, _server, client) = open().await;
    client.ok("create_runner", json!(["osis"])).await;
    let jobs = json!({ "jobs": { "lost": { "script": "1", "runner": 1 }, "other": { "script": "2" } } });
    let flow = client.ok("create_flow", jobs).await;
    client.ok("start_flow", json!([flow])).await;
    let waits = json!({ "flow_id": flow, "wait_timeout": 0.2 });
    let before = client.fault("wait_flow", waits.clone()).await;
    assert!(before.code == 1102 && !before.message.contains("runner"), "{before:?}");
    client.ok("delete_runner", json!([1])).await;
    let after = client.fault("wait_flow", waits).await;
    assert!(after.code == 1102 && after.message.contains("its job \"lost\" is for runner 1, which was deleted"), "{after:?}");
}

#[tokio::test]
async fn a_topic_is_that_of_one_runner() {
    let (house, _server, client) = open().await;
    client.ok("create_runner", json!({"script_type": "osis", "topic": "weather"})).await;
    client.ok("create_runner", json!(["osis"])).await;
    for (method, params, other) in [
        ("create_runner", json!({"script_type": "osis", "topic": "weather"}), 1),
        ("update_runner", json!({"runner_id": 2, "topic": "weather"}), 1),
        // What a runner is called by its number is its own.
        ("create_runner", json!({"script_type": "osis", "topic": "runner1"}), 1),
        ("update_runner", json!({"runner_id": 1, "topic": "runner2"}), 2),
        ("update_runner", json!({"runner_id": 1, "topic": "runner77"}), 77),
    ] {
        let fault = client.fault(method, params.clone()).await;
        let told = match other {
            77 => "topic: is kept for the runner with the number 77".to_owned(),
            _ => format!("topic: is that of runner {other} of context 0"),
        };
        assert!(fault.code == -32602 && fault.message.contains(&told), "{params}: {fault:?}");
    }
    // The same again is no change, and what a runner does not have any more is free.
    client.ok("update_runner", json!({"runner_id": 1, "topic": "weather"})).await;
    client.ok("update_runner", json!({"runner_id": 1, "topic": "runner1"})).await;
    client.ok("update_runner", json!({"runner_id": 2, "topic": "weather"})).await;
    client.ok("delete_runner", json!([2])).await;
    let left: Vec<String> = house.redis.run(&["ZRANGE", "hero:meta:topics", "0", "-1"]).await;
    assert!(left.is_empty(), "{left:?}");
    // What another program makes of the key is named, and gives way to the next topic.
    let by_topic = json!({"message": "x", "topic": "weather"});
    assert_eq!(client.fault("send_message", by_topic.clone()).await.code, -32602);
    let _: i64 = house.redis.run(&["LPUSH", "hero:meta:topics", "x"]).await;
    let fault = client.fault("send_message", by_topic.clone()).await;
    assert_eq!((fault.code, &fault.data["key"]), (1009, &json!("hero:meta:topics")), "{fault:?}");
    client.ok("create_runner", json!({"script_type": "osis", "topic": "weather"})).await;
    client.ok("send_message", by_topic).await;
}

#[tokio::test]
async fn a_runner_in_rust_is_a_program_of_its_own_and_its_jobs_are_refused_while_it_is_not_there() {
    let (house, _server, client) = open().await;
    assert_eq!(client.fault("create_runner", json!(["zig"])).await.code, 1003);
    let runner = client.ok("create_runner", json!({ "script_type": "rust", "name": "compiled" })).await;
    assert_eq!((&runner["script_type"], &runner["local"]), (&json!("rust"), &json!(true)));
    let job = json!({ "script": "add 40 2", "script_type": "rust", "group": "runner1" });
    let refused = client.fault("create_job", job.clone()).await;
    assert!(refused.code == 1003 && refused.message.contains("programs in Rust that take them from Redis"), "{refused:?}");
    // It says that it is there, takes its job, and says how that ended.
    let _: String = house.redis.run(&["SET", "hero:meta:actor:inst:rust:runner1:1", "{}", "EX", "60"]).await;
    let id: String = client.ok("create_job", job).await.as_str().unwrap().to_owned();
    client.ok("start_job", json!([id])).await;
    let taken: String = house.redis.run(&["RPOP", "hero:q:work:type:rust:group:runner1"]).await;
    assert_eq!(taken, id);
    let key = format!("hero:job:{id}");
    let _: i64 = house.redis.run(&["HSET", &key, "status", "started"]).await;
    let _: i64 = house.redis.run(&["HSET", &key, "status", "finished", "output", "42"]).await;
    assert_eq!(client.ok("wait_job", json!([id])).await["output"], "42");
}
