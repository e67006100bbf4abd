//! Subscriptions deliver each change once, in order, from any cursor.

use std::collections::BTreeMap;

use super::*;
use crate::support::Items;

/// The whole event stream, as a cursor, a job and a status each.
async fn stream(house: &House) -> Vec<(String, String, String)> {
    let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let changes = events.into_iter().flat_map(|(cursor, event)| {
        let change = (cursor, event["job"].clone(), event["status"].clone());
        // One entry stands for two changes of a job that started as it was stored, and for three of one that finished before.
        let earlier: Vec<&str> = ["dispatched", "started"].into_iter().filter(|status| event.contains_key(*status)).collect();
        let part = |(at, status): (usize, &str)| (format!("{}:{}", change.0, at + 1), change.1.clone(), status.to_owned());
        let earlier: Vec<_> = earlier.into_iter().enumerate().map(part).collect();
        earlier.into_iter().chain([change])
    });
    changes.collect()
}

fn seen(items: &[Value]) -> Vec<(String, String, String)> {
    let text = |item: &Value, field: &str| item[field].as_str().unwrap_or_else(|| panic!("{item}")).to_owned();
    items.iter().map(|item| (text(item, "cursor"), text(item, "job_id"), text(item, "status"))).collect()
}

async fn take(items: &mut Items, count: usize) -> Vec<Value> {
    let mut taken = Vec::new();
    while taken.len() < count {
        taken.push(items.next().await);
    }
    taken
}

fn statuses(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["status"].as_str().unwrap_or_else(|| panic!("{item}"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_followed_from_its_present_state_to_its_end() {
    let (_house, _server, client) = open(1).await;
    let id = create(&client, json!({"script": "throw 1", "retries": 1, "retry_backoff": 0.01})).await;
    let mut items = client.subscribe("subscribe_job", json!([id])).await.unwrap();
    assert_eq!(statuses(&take(&mut items, 1).await), ["created"]);
    client.ok("start_job", json!([id])).await;
    let changes = items.rest().await;
    assert_eq!(statuses(&changes), ["dispatched", "started", "scheduled", "dispatched", "started", "error"]);
    let attempts: Vec<_> = changes.iter().map(|item| item["attempt"].as_u64().unwrap()).collect();
    assert_eq!((attempts, &changes[5]["kind"], &changes[5]["context_id"]), (vec![0, 1, 1, 1, 2, 2], &json!("script"), &json!(0)));
    // One that has ended: its state, and the end.
    let mut items = client.subscribe("subscribe_job", json!([id])).await.unwrap();
    assert_eq!(statuses(&items.rest().await), ["error"]);
    // From a cursor: what follows it.
    let mut items = client.subscribe("subscribe_job", json!([id, changes[2]["cursor"]])).await.unwrap();
    assert_eq!(items.rest().await, changes[3..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ended_before_the_cursor_ends_its_subscription() {
    let (house, _server, client) = open(1).await;
    let id = client.ok("run_and_wait", json!(["1"])).await["job_id"].clone();
    let (last, ..) = stream(&house).await.pop().unwrap();
    let mut items = client.subscribe("subscribe_job", json!([id, last])).await.unwrap();
    assert!(items.rest().await.is_empty());
    let fault = client.subscribe("subscribe_job", json!([NOBODY, last])).await.unwrap_err();
    assert_eq!(fault.code, 1001, "{fault:?}");
    // Its changes may be forgotten, too.
    client.ok("run_and_wait", json!(["1"])).await;
    let _: i64 = house.redis.run(&["XTRIM", "hero:events", "MAXLEN", "1"]).await;
    let mut items = client.subscribe("subscribe_job", json!([id, "1-0"])).await.unwrap();
    let items = items.rest().await;
    assert!(items.len() == 2 && items[0]["type"] == "lagged" && items[1]["status"] == "finished", "{items:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_job_ends_its_subscription() {
    let (_house, _server, client) = open(0).await;
    let id = create(&client, json!(["1"])).await;
    let mut items = client.subscribe("subscribe_job", json!([id])).await.unwrap();
    assert_eq!(statuses(&take(&mut items, 1).await), ["created"]);
    client.ok("delete_job", json!([id])).await;
    assert!(items.rest().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn resuming_by_cursor_sees_each_change_of_hundreds_of_jobs_once() {
    let (house, server, client) = open(2).await;
    let marker = create(&client, json!(["0"])).await;
    let (first, ..) = stream(&house).await.pop().unwrap();
    let runner = tokio::spawn({
        let client = client.clone();
        async move {
            for round in 0..6 {
                let jobs = (0..60).map(|number| {
                    let script = if number % 10 == 0 { "throw 1".to_owned() } else { format!("{round} + {number}") };
                    let client = &client;
                    async move { client.call("run_and_wait", json!({"script": script, "retries": 1, "retry_backoff": 0.001})).await }
                });
                futures_util::future::join_all(jobs).await;
            }
            client.ok("stop_job", json!([marker])).await;
            marker
        }
    });
    // Breaks off again and again in the middle, each time with a new connection.
    let (mut all, mut cursor) = (Vec::new(), json!(first));
    for piece in 0..12 {
        let broken = server.connect().await;
        let mut items = broken.subscribe("subscribe_events", json!({"cursor": cursor})).await.unwrap();
        all.extend(take(&mut items, 20 + 7 * piece).await);
        cursor = all.last().unwrap()["cursor"].clone();
    }
    let mut items = client.subscribe("subscribe_events", json!([{}, cursor])).await.unwrap();
    let marker = runner.await.unwrap();
    loop {
        let item = items.next().await;
        let last = item["job_id"] == marker;
        all.push(item);
        if last {
            break;
        }
    }
    assert_eq!(seen(&all), stream(&house).await[1..]);
    let mut of_job: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for item in &all {
        of_job.entry(item["job_id"].as_str().unwrap()).or_default().push(item["status"].as_str().unwrap());
    }
    assert_eq!(of_job.len(), 361);
    assert!(of_job.values().all(|statuses| ["finished", "error"].contains(statuses.last().unwrap())));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_begin_to_follow_at_once_miss_nothing() {
    let (house, server, _client) = open(0).await;
    let clients = futures_util::future::join_all((0..8).map(|_| server.connect())).await;
    // The reader of the stream ends with its last follower, so each round starts a new one.
    for _ in 0..5 {
        let followers = clients.iter().flat_map(|client| std::iter::repeat_n(client, 5)).map(async |client| {
            let id = create(client, json!(["1", "sal"])).await;
            let mut items = client.subscribe("subscribe_job", json!([id])).await.unwrap();
            client.ok("stop_job", json!([id])).await;
            items.rest().await.last().unwrap()["status"] == "error"
        });
        assert!(futures_util::future::join_all(followers).await.iter().all(|told| *told));
    }
    drop(house);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_filtered() {
    let (_house, _server, client) = open(1).await;
    let mut ended = client.subscribe("subscribe_events", json!([{"status": "finished"}])).await.unwrap().begun().await;
    let filter = json!({"filter": {"name": "b", "labels": {"x": "1"}}});
    let mut named = client.subscribe("subscribe_events", filter).await.unwrap().begun().await;
    let a = client.ok("run_and_wait", json!({"script": "1", "name": "a"})).await["job_id"].clone();
    let b = client.ok("run_and_wait", json!({"script": "1", "name": "b", "labels": {"x": "1", "y": "2"}})).await["job_id"].clone();
    client.fault("run_and_wait", json!({"script": "throw 1", "name": "c"})).await;
    let ids: Vec<Value> = take(&mut ended, 2).await.iter().map(|item| item["job_id"].clone()).collect();
    assert_eq!(ids, [a, b.clone()]);
    let of_b = take(&mut named, 3).await;
    assert_eq!(statuses(&of_b), ["dispatched", "started", "finished"]);
    assert!(of_b.iter().all(|item| item["job_id"] == b));
    for (items, method) in [(&mut ended, "unsubscribe_events"), (&mut named, "unsubscribe_events")] {
        assert_eq!(client.ok(method, json!([items.id])).await, true);
        client.ok("run_and_wait", json!({"script": "1", "name": "b", "labels": {"x": "1"}})).await;
        client.ok("ping", json!([])).await;
    }
    assert!(ended.waiting().is_empty(), "an item came after the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_breaks_off_before_the_first_event_goes_on_from_where_it_began() {
    let (house, server, client) = open(1).await;
    client.ok("run_and_wait", json!(["1"])).await;
    let broken = server.connect().await;
    let began = broken.subscribe("subscribe_events", json!({})).await.unwrap().next().await;
    assert_eq!(began["type"], "began");
    drop(broken);
    let before = stream(&house).await;
    client.ok("run_and_wait", json!(["2"])).await;
    let all = stream(&house).await;
    let mut items = client.subscribe("subscribe_events", json!([{}, began["cursor"]])).await.unwrap();
    assert_eq!(seen(&take(&mut items, all.len() - before.len()).await), all[before.len()..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_that_is_too_old_is_told_and_what_is_left_follows() {
    let (house, _server, client) = open(1).await;
    for _ in 0..20 {
        client.ok("run_and_wait", json!(["1"])).await;
    }
    let (old, ..) = stream(&house).await.swap_remove(5);
    let _: i64 = house.redis.run(&["XTRIM", "hero:events", "MAXLEN", "10"]).await;
    let left = stream(&house).await;
    let mut items = client.subscribe("subscribe_events", json!([{}, old])).await.unwrap();
    let lagged = items.next().await;
    assert_eq!(lagged["type"], "lagged");
    assert_eq!(seen(&take(&mut items, left.len()).await), left);
    // The cursor that it names resumes at the same place.
    let mut items = client.subscribe("subscribe_events", json!([{}, lagged["cursor"]])).await.unwrap();
    let again = take(&mut items, 10).await;
    assert_eq!(again[usize::from(again[0]["type"] == "lagged")]["cursor"], left[0].0);
    // And what happens from now on comes too.
    let id = client.ok("run_and_wait", json!(["1"])).await["job_id"].clone();
    while items.next().await["job_id"] != id {}
}
