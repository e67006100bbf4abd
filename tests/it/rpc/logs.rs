//! Reading and following the output of scripts.

use super::*;
use crate::support::PATIENCE;

fn texts(lines: &[Value]) -> Vec<&str> {
    lines.iter().map(|line| line["text"].as_str().unwrap()).collect()
}

/// `0` to `count - 1`, as a script prints them.
fn numbers(count: usize) -> Vec<String> {
    (0..count).map(|number| number.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn logs_are_read_page_by_page() {
    let (_house, _server, client) = open(1).await;
    let id = start(&client, json!(["for i in 0..250 { print(i) } log_error(\"bad\"); log_warn(\"hm\"); debug(\"d\"); sleep(1000)"])).await;
    // While it runs, an empty page is not the end.
    let (mut lines, mut cursor) = (Vec::new(), Value::Null);
    let reading = async {
        while lines.len() < 253 {
            let params = if cursor.is_null() { json!({"job_id": id, "limit": 40}) } else { json!([id, cursor, 40]) };
            let page = client.ok("get_logs", params).await;
            assert_eq!(page["ended"], false);
            lines.extend(page["lines"].as_array().unwrap().clone());
            cursor = page.get("next_cursor").cloned().unwrap_or(cursor.take());
        }
    };
    tokio::time::timeout(PATIENCE, reading).await.expect("all lines");
    assert_eq!(texts(&lines)[..250], numbers(250));
    let last: Vec<_> = lines[250..].iter().map(|line| (line["level"].as_str().unwrap(), line["text"].as_str().unwrap())).collect();
    assert_eq!(last, [("error", "bad"), ("warn", "hm"), ("debug", "\"d\"")]);
    client.ok("stop_job", json!([id])).await;
    let page = client.ok("get_logs", json!([id, cursor])).await;
    assert_eq!((&page["lines"], &page["ended"], &page["next_cursor"]), (&json!([]), &json!(true), &cursor));
    // A line's cursor goes on behind it, and a full page is not the last.
    let page = client.ok("get_logs", json!([id, lines[9]["cursor"], 243])).await;
    assert_eq!((page["lines"].as_array().unwrap()[0]["text"].as_str(), &page["ended"]), (Some("10"), &json!(false)));
    let quiet = client.ok("run_and_wait", json!(["1"])).await["job_id"].clone();
    assert_eq!(client.ok("get_logs", json!([quiet])).await, json!({"lines": [], "ended": true}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_is_followed_from_a_cursor_without_a_gap() {
    let (_house, server, client) = open(1).await;
    let id = start(&client, json!(["for i in 0..600 { print(i); if i % 20 == 0 { sleep(0.01) } }"])).await;
    let (mut lines, mut cursor) = (Vec::new(), None);
    // A new connection every few lines, each going on where the last one broke off.
    while lines.len() < 300 {
        let broken = server.connect().await;
        let mut items = broken.subscribe("subscribe_logs", json!([id, cursor])).await.unwrap();
        for _ in 0..37 {
            let item = items.next().await;
            cursor = Some(item["cursor"].clone());
            lines.push(item);
        }
    }
    let mut items = client.subscribe("subscribe_logs", json!({"job_id": id, "cursor": cursor})).await.unwrap();
    lines.extend(items.rest().await);
    assert_eq!(texts(&lines), numbers(600));
    // After the end too, from the beginning.
    let mut items = client.subscribe("subscribe_logs", json!([id])).await.unwrap();
    assert_eq!(items.rest().await, lines);
    let mut items = client.subscribe("subscribe_logs", json!([id, lines[599]["cursor"]])).await.unwrap();
    assert!(items.rest().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_are_not_kept_are_told_as_lost() {
    let (house, _server, client) = open(1).await;
    let id = client.ok("run_and_wait", json!(["for i in 0..1000 { print(i) }"])).await["job_id"].clone();
    let first = client.ok("get_logs", json!([id, null, 10])).await["lines"].as_array().unwrap().clone();
    let _: i64 = house.redis.run(&["XTRIM", &format!("hero:log:{}", id.as_str().unwrap()), "MAXLEN", "500"]).await;
    let mut items = client.subscribe("subscribe_logs", json!([id, first[9]["cursor"]])).await.unwrap();
    let items = items.rest().await;
    assert_eq!(items[0]["type"], "lagged", "{}", items[0]);
    assert_eq!(texts(&items[1..]), numbers(1000)[500..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn unsubscribing_from_a_log_ends_it() {
    let (_house, _server, client) = open(1).await;
    let id = start(&client, json!(["loop { print(1); sleep(0.01) }"])).await;
    let mut items = client.subscribe("subscribe_logs", json!([id])).await.unwrap();
    items.next().await;
    assert_eq!(client.ok("unsubscribe_logs", json!([items.id])).await, true);
    assert_eq!(client.ok("unsubscribe_logs", json!([items.id])).await, false);
    client.ok("stop_job", json!([id])).await;
    assert!(items.waiting().iter().all(|item| item["text"] == "1"), "an end marker came");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_very_long_line_of_a_foreign_program_is_cut_and_says_so() {
    let (house, _server, client) = open(0).await;
    let id = create(&client, json!({"script": "1"})).await;
    let (key, long) = (format!("hero:log:{}", id.as_str().unwrap()), "é".repeat(1_500_000));
    for text in ["before", &long, "behind"] {
        let _: String = house.redis.run(&["XADD", &key, "*", "level", "warn", "text", text]).await;
    }
    let page = client.ok("get_logs", json!([id])).await;
    let mut lines = page["lines"].as_array().unwrap().clone();
    while lines.len() < 3 {
        let page = client.ok("get_logs", json!([id, lines.last().unwrap()["cursor"]])).await;
        lines.extend(page["lines"].as_array().unwrap().clone());
    }
    assert_eq!((texts(&lines)[0], texts(&lines)[2]), ("before", "behind"));
    let (text, mark) = texts(&lines)[1].split_once('…').unwrap();
    assert!(long.starts_with(text) && text.len() > 262_000 && text.len() <= 262_144, "{}", text.len());
    assert_eq!((mark, &lines[1]["level"]), (" (3000000 bytes, cut)", &json!("warn")));
    let mut following = client.subscribe("subscribe_logs", json!([id])).await.unwrap();
    for line in &lines {
        assert_eq!(following.next().await["text"], line["text"]);
    }
}
