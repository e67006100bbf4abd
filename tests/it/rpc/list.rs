//! Listing and finding jobs.

use std::collections::{BTreeMap, HashSet};

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

/// Waits for another millisecond of Redis: jobs of one that stand by their status are in the order of their ids.
async fn another_millisecond(house: &House) {
    let time = async || {
        let (seconds, micros): (u64, u64) = house.redis.run(&["TIME"]).await;
        seconds * 1000 + micros / 1000
    };
    let now = time().await;
    until("another millisecond", || async { (time().await > now).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_filter_restricts_and_all_hold() {
    let (house, _server, client) = open(1).await;
    let before = client.ok("server_info", json!([])).await["started_at"].clone();
    let a = create(&client, json!({"script": "1", "name": "a", "caller_id": "ann", "labels": {"x": "1", "y": "2"}})).await;
    another_millisecond(&house).await;
    let b = create(&client, json!({"script": "1", "name": "b", "caller_id": "bob", "labels": {"x": "1"}, "group": "g"})).await;
    another_millisecond(&house).await;
    let c = create(&client, json!({"script": "1", "script_type": "sal"})).await;
    let d = client.ok("run_and_wait", json!(["1"])).await["job_id"].clone();
    another_millisecond(&house).await;
    let e = create(&client, json!({"script": "1", "parent_id": d})).await;
    for (filter, expected) in [
        (json!({}), vec![&e, &d, &c, &b, &a]),
        (json!({"parent_id": d}), vec![&e]),
        (json!({"parent_id": a}), vec![]),
        (json!({"status": "created"}), vec![&e, &c, &b, &a]),
        (json!({"status": "finished"}), vec![&d]),
        (json!({"script_type": "sal"}), vec![&c]),
        (json!({"caller_id": "ann"}), vec![&a]),
        (json!({"group": "g"}), vec![&b]),
        (json!({"name": "b"}), vec![&b]),
        (json!({"labels": {"x": "1"}}), vec![&b, &a]),
        (json!({"labels": {"x": "1", "y": "2"}}), vec![&a]),
        (json!({"labels": {"x": "1"}, "name": "b", "status": "created"}), vec![&b]),
        (json!({"labels": {"x": "2"}}), vec![]),
        (json!({"created_after": before}), vec![&e, &d, &c, &b, &a]),
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
    let _: i64 = house.redis.run(&["SADD", "hero:meta:hours", &format!("hero:index:{earlier}")]).await;
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

/// A finished job as a foreign actor would leave it, with this number of bytes of output.
async fn with_output(house: &House, client: &Client, spec: Value, bytes: usize) -> String {
    let id = create(client, spec).await.as_str().unwrap().to_owned();
    let output = "x".repeat(bytes);
    let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{id}"), "status", "finished", "output", &output]).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_large_jobs_is_small_and_says_what_it_cuts() {
    let (house, _server, client) = open(0).await;
    let labels: BTreeMap<String, String> = (0..200).map(|number| (format!("l{number}"), "v".repeat(50))).collect();
    let script = format!("// {}", "ä".repeat(30_000));
    let spec = json!({"script": script, "args": {"a": "x".repeat(50_000)}, "env_vars": labels, "labels": labels, "name": "large"});
    let mut ids = Vec::new();
    for _ in 0..12 {
        ids.push(with_output(&house, &client, spec.clone(), 2_000_000).await);
    }
    let failed = create(&client, json!({"script": "1", "name": "failed"})).await;
    let key = format!("hero:job:{}", failed.as_str().unwrap());
    let _: i64 = house.redis.run(&["HSET", &key, "status", "error", "error", &"e".repeat(100_000)]).await;
    let small = client.ok("create_job", json!({"script": "1", "name": "small", "args": [1]})).await;
    let page = client.ok("list_jobs", json!({"limit": 1000})).await;
    assert!(page.to_string().len() < 64 * 1024, "{} bytes", page.to_string().len());
    let jobs = page["jobs"].as_array().unwrap();
    assert_eq!((jobs.len(), &jobs[0]["job_id"], &jobs[0]["args"], jobs[0].get("truncated")), (14, &small, &json!([1]), None));
    assert_eq!((jobs[1].get("error"), &jobs[1]["truncated"]), (None, &json!(["error"])));
    for (job, id) in jobs[2..].iter().zip(ids.iter().rev()) {
        assert_eq!(job["job_id"], *id);
        let cut = job["script"].as_str().unwrap();
        assert!(script.starts_with(cut) && (1000..=1024).contains(&cut.len()), "{cut:?}");
        assert_eq!(job["truncated"], json!(["labels", "script", "args", "env_vars", "output"]), "{job}");
        assert!(["labels", "args", "env_vars"].into_iter().all(|field| job.get(field).is_none()) && job["output"] == "", "{job}");
    }
    // Filters see what lists do not.
    assert_eq!(all(&client, json!({"name": "large", "status": "finished", "labels": {"l7": labels["l7"]}}), 5).await.len(), 12);
    let whole = client.ok("get_job", json!([ids[0]])).await;
    assert_eq!((whole["output"].as_str().unwrap().len(), &whole["script"], whole.get("truncated")), (2_000_000, &json!(script), None));
    assert_eq!((&whole["labels"], &whole["args"]), (&json!(labels), &spec["args"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_ends_by_bytes_and_the_next_one_goes_on_there() {
    let (_house, server, client) = open(0).await;
    let text = "s".repeat(1000);
    let spec = json!({"script": text, "name": text, "caller_id": text, "client_rpc_id": text, "log_path": format!("{}/{}", "l".repeat(200), "l".repeat(200))});
    let mut ids: Vec<String> = Vec::new();
    for _ in 0..4 {
        let jobs = vec![spec.clone(); 100];
        ids.extend(client.ok("create_jobs", json!({"jobs": jobs})).await.as_array().unwrap().iter().map(|id| id.as_str().unwrap().into()));
    }
    ids.reverse();
    let page = client.ok("list_jobs", json!({"limit": 1000})).await;
    let (jobs, bytes) = (page["jobs"].as_array().unwrap().len(), page.to_string().len());
    assert!(jobs < 400 && page.get("next_cursor").is_some() && (900_000..1_100_000).contains(&bytes), "{jobs} jobs, {bytes} bytes");
    assert_eq!(all(&client, json!({}), 1000).await, ids);
    assert_eq!(all(&client, json!({"name": text}), 1000).await, ids);
    drop(server);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_larger_than_a_response_is_listed_and_get_job_says_that_it_is_too_large() {
    let (house, _server, client) = open(0).await;
    let id = with_output(&house, &client, json!(["1"]), 17 << 20).await;
    // This one is below the limit until it is JSON.
    let escaped = create(&client, json!(["1"])).await;
    let key = format!("hero:job:{}", escaped.as_str().unwrap());
    let _: i64 = house.redis.run(&["HSET", &key, "status", "finished", "output", &"\u{1}".repeat(3 << 20)]).await;
    let page = client.ok("list_jobs", json!({})).await;
    assert_eq!((&page["jobs"][1]["job_id"], &page["jobs"][1]["truncated"]), (&json!(id), &json!(["output"])));
    for id in [json!(id), escaped] {
        for method in ["get_job", "get_result", "wait_job"] {
            let fault = client.fault(method, json!([id])).await;
            assert_eq!((fault.code, &fault.data), (1008, &json!({"limit": 16 << 20})), "{method}: {fault:?}");
        }
        assert_eq!(client.ok("get_status", json!([id])).await, "finished");
    }
    // Nobody reads what cannot be answered.
    let fault = client.fault("get_result", json!([id])).await;
    assert!(fault.message.contains("the result has 17825792 bytes, the limit is 16777216 (max_response)"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_at_once_are_few_and_who_gets_no_place_is_told() {
    let (house, _server, client) = open(0).await;
    create(&client, json!(["1"])).await;
    // The wire lets even fewer come so far.
    let list = || {
        let dispatcher = house.dispatcher.clone();
        tokio::spawn(async move { dispatcher.jobs().list(crate::support::CONTEXT, &Default::default(), None, 10).await })
    };
    house.redis.halt(true);
    let lists: Vec<_> = (0..6).map(|_| list()).collect();
    let refused = || async { (lists.iter().filter(|list| list.is_finished()).count() == 2).then_some(()) };
    until("two that get no place", refused).await;
    house.redis.halt(false);
    let (mut listed, mut faults) = (0, Vec::new());
    for list in lists {
        match list.await.unwrap() {
            Ok(page) => listed += page.jobs.len(),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    assert_eq!((listed, faults), (4, vec!["too many lists of jobs at once; try again in 1000 ms".to_owned(); 2]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_reads_a_bounded_part_of_large_labels_for_a_page() {
    let (house, _server, client) = open(0).await;
    // Each has a megabyte of labels, which are no work for one page.
    let large = format!("{{\"x\":\"1\",\"y\":\"{}\"}}", "v".repeat((1 << 20) - 100));
    let mut ids = Vec::new();
    for _ in 0..40 {
        let id = create(&client, json!(["1"])).await.as_str().unwrap().to_owned();
        let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{id}"), "labels", &large]).await;
        ids.push(id);
    }
    ids.reverse();
    let page = client.ok("list_jobs", json!({"filter": {"labels": {"x": "2"}}})).await;
    assert!(page["jobs"].as_array().unwrap().is_empty() && page.get("next_cursor").is_some(), "{page}");
    assert_eq!(all(&client, json!({"labels": {"x": "1"}}), 1000).await, ids);
    assert!(all(&client, json!({"labels": {"x": "2"}}), 1000).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_listed_and_followed_by_16_labels_and_more_are_refused() {
    let (_house, _server, client) = open(0).await;
    let labels = |number: usize| -> BTreeMap<String, String> { (0..number).map(|at| (format!("l{at}"), "v\\".repeat(500))).collect() };
    let id = create(&client, json!({"script": "1", "labels": labels(17)})).await;
    assert_eq!(all(&client, json!({"labels": labels(16)}), 10).await, [id.as_str().unwrap()]);
    client.subscribe("subscribe_events", json!({"filter": {"labels": labels(16)}})).await.unwrap();
    let long = "x".repeat(1025);
    for (filter, says) in [
        (json!({"labels": labels(17)}), "filter.labels: has 17 entries, the limit is 16"),
        (json!({"labels": {"a": long}}), "filter.labels: a name or value is longer than 1024 bytes, as that of no job is"),
        (json!({"name": long}), "filter.name: is longer than 1024 bytes, as that of no job is"),
        (json!({"caller_id": long}), "filter.caller_id: is longer than 1024 bytes, as that of no job is"),
    ] {
        for method in ["list_jobs", "subscribe_events"] {
            let fault = client.fault(method, json!({"filter": filter})).await;
            assert!(fault.code == -32602 && fault.message.contains(says), "{method}: {fault:?}");
        }
    }
}
