//! Jobs are found again.

use std::collections::HashSet;

use super::*;

/// Every job of a filter, page by page.
async fn all(client: &Client, filter: Value, limit: u64) -> Vec<String> {
    let (mut found, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let mut params = json!({"filter": filter, "limit": limit});
        if !cursor.is_null() {
            params["cursor"] = cursor;
        }
        let mut page = client.ok("list_jobs", params).await;
        let jobs = page["jobs"].as_array().unwrap();
        assert!(jobs.len() as u64 <= limit);
        found.extend(jobs.iter().map(|job| job["job_id"].as_str().unwrap().to_owned()));
        cursor = page["next_cursor"].take();
        if cursor.is_null() {
            return found;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_filter_restricts_and_all_hold() {
    let (_house, _server, client) = open(1).await;
    let before = client.ok("server_info", json!([])).await["started_at"].clone();
    let a = create(&client, json!({"script": "1", "name": "a", "caller_id": "ann", "labels": {"x": "1", "y": "2"}})).await;
    let b = create(&client, json!({"script": "1", "name": "b", "caller_id": "bob", "labels": {"x": "1"}, "group": "g"})).await;
    let c = create(&client, json!({"script": "1", "script_type": "sal"})).await;
    let d = client.ok("run_and_wait", json!(["1"])).await["job_id"].clone();
    for (filter, expected) in [
        (json!({}), vec![&d, &c, &b, &a]),
        (json!({"status": "created"}), vec![&c, &b, &a]),
        (json!({"status": "finished"}), vec![&d]),
        (json!({"script_type": "sal"}), vec![&c]),
        (json!({"caller_id": "ann"}), vec![&a]),
        (json!({"group": "g"}), vec![&b]),
        (json!({"name": "b"}), vec![&b]),
        (json!({"labels": {"x": "1"}}), vec![&b, &a]),
        (json!({"labels": {"x": "1", "y": "2"}}), vec![&a]),
        (json!({"labels": {"x": "1"}, "name": "b", "status": "created"}), vec![&b]),
        (json!({"labels": {"x": "2"}}), vec![]),
        (json!({"created_after": before}), vec![&d, &c, &b, &a]),
        (json!({"created_before": before}), vec![]),
        (json!({"created_after": "2999-01-01T00:00:00Z"}), vec![]),
    ] {
        let expected: Vec<&str> = expected.iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(all(&client, filter.clone(), 100).await, expected, "{filter}");
        assert_eq!(all(&client, filter.clone(), 1).await, expected, "{filter} by ones");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_hold_every_job_once_while_others_come_and_go() {
    let (house, _server, client) = open(0).await;
    let mut ids = Vec::new();
    for _ in 0..7 {
        let more = futures_util::future::join_all((0..100).map(|_| create(&client, json!({"script": "1", "name": "old"})))).await;
        ids.extend(more.into_iter().map(|id| id.as_str().unwrap().to_owned()));
    }
    // An hour earlier there were jobs, too.
    let earlier = house.store.clock().now().minus(std::time::Duration::from_secs(3600)).hour();
    let now = house.store.clock().now().hour();
    for _ in 0..150 {
        let _: String = house.redis.run(&["LMOVE", &format!("hero:index:{now}"), &format!("hero:index:{earlier}"), "LEFT", "RIGHT"]).await;
    }
    let (stop, creating) = (tokio_util::sync::CancellationToken::new(), client.clone());
    let creator = tokio::spawn({
        let stop = stop.clone();
        async move {
            while !stop.is_cancelled() {
                create(&creating, json!({"script": "1", "name": "new"})).await;
            }
        }
    });
    for limit in [1000, 100, 70, 33] {
        let found = all(&client, json!({}), limit).await;
        let distinct: HashSet<&String> = found.iter().collect();
        assert_eq!(distinct.len(), found.len(), "a job came twice");
        assert!(ids.iter().all(|id| distinct.contains(id)), "limit {limit}: a job is missing");
        assert_eq!(all(&client, json!({"name": "old"}), limit).await.len(), ids.len());
    }
    stop.cancel();
    creator.await.unwrap();
    // Deleted jobs leave no hole.
    for id in ids.iter().step_by(2) {
        client.ok("delete_job", json!([id])).await;
    }
    let left: HashSet<String> = all(&client, json!({"name": "old"}), 50).await.into_iter().collect();
    assert_eq!(left, ids.iter().skip(1).step_by(2).cloned().collect());
}
