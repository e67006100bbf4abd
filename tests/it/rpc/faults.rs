//! Redis outages, broken connections and crashed engines: acknowledged jobs end exactly once.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::*;
use crate::support::{CallError, DEADLY, DEADLY_LEVELS, Redis, pool_settings};

/// Runs a job until it is known to have ended: what a careful client does.
///
/// The key makes it safe to send the call again after an unknown outcome.
async fn run_surely(client: &Client, number: usize) -> Value {
    let spec = json!({"script": format!("{number} + 1"), "idempotency_key": format!("job {number}"), "wait_timeout": 20});
    until("the job ends", || async {
        match client.call("run_and_wait", spec.clone()).await {
            Ok(result) => Some(result),
            Err(fault) if [1009, 1102].contains(&fault.code) => None,
            Err(fault) => panic!("{fault:?}"),
        }
    })
    .await
}

/// Asserts that every job has its own correct result, and was recorded once.
async fn check(house: &House, results: &[Value]) {
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result["value"], number + 1);
    }
    let ids: HashSet<&str> = results.iter().map(|result| result["job_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), results.len());
    let events: Vec<(String, std::collections::BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let ends: Vec<&str> =
        events.iter().filter(|(_, event)| event["status"] == "finished").map(|(_, event)| event["job"].as_str()).collect();
    assert_eq!(ends.len(), results.len());
    assert_eq!(ends.into_iter().collect::<HashSet<_>>(), ids);
    for key in ["hero:q:work:type:osis", "hero:q:leases", "hero:q:scheduled"] {
        assert_eq!(house.redis.run::<i64>(&["EXISTS", key]).await, 0, "{key}");
    }
}

/// Runs jobs in the background until told to stop.
fn load(client: &Client, enough: &tokio_util::sync::CancellationToken) -> tokio::task::JoinHandle<Vec<Value>> {
    let (client, enough) = (client.clone(), enough.clone());
    tokio::spawn(async move {
        let mut results = Vec::new();
        while !enough.is_cancelled() {
            results.extend(join_all((0..20).map(|more| run_surely(&client, results.len() + more))).await);
        }
        results
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_connections_and_flushed_scripts_lose_nothing() {
    let (house, _server, client) = open(2).await;
    let enough = tokio_util::sync::CancellationToken::new();
    let jobs = load(&client, &enough);
    for round in 0..6 {
        client.ok("ping", json!([])).await;
        match round % 3 {
            0 => {
                let _: i64 = house.redis.run(&["CLIENT", "KILL", "TYPE", "normal"]).await;
                let _: i64 = house.redis.run(&["CLIENT", "KILL", "TYPE", "pubsub"]).await;
            }
            1 => {
                let _: () = house.redis.run(&["FUNCTION", "FLUSH"]).await;
            }
            _ => {
                let _: () = house.redis.run(&["CLIENT", "PAUSE", if round == 2 { "2000" } else { "100" }]).await;
            }
        }
        run_surely(&client, 1_000_000 + round).await;
    }
    enough.cancel();
    let mut results = jobs.await.unwrap();
    let count = results.len();
    assert!(count >= 20);
    for round in 0..6 {
        let mut result = run_surely(&client, 1_000_000 + round).await;
        assert_eq!(result["value"], 1_000_001 + round);
        result["value"] = json!(count + round + 1);
        results.push(result);
    }
    check(&house, &results).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_is_gone_for_five_seconds_and_everything_goes_on_after_it() {
    const AWAY: Duration = Duration::from_secs(5);
    let redis = Redis::with(&["--save", "", "--appendonly", "yes", "--appendfsync", "always"]).await;
    let mut house = House::on(redis).await;
    let settings = crate::support::pool_settings(house.redis.directory(), 2);
    house.hire(settings).await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    let first = join_all((0..50).map(|number| run_surely(&client, number))).await;
    let waiting = start(&client, json!({"script": "1", "run_at": "2999-01-01T00:00:00Z"})).await;
    let running = start(&client, json!(["sleep(1.5); \"survived\""])).await;
    is(&client, &running, "started").await;
    let mut follower = client.subscribe("subscribe_job", json!([waiting])).await.unwrap();
    assert_eq!(follower.next().await["status"], "scheduled");
    let waiter = tokio::spawn({
        let (client, running) = (client.clone(), running.clone());
        // If it had only just been noted, it may be told that nothing was done.
        async move { until("the end", || async { client.call("wait_job", json!([running])).await.ok() }).await }
    });
    let key = format!("hero:job:{}", running.as_str().unwrap());
    until("the wait is noted", || async { house.redis.run::<Option<String>>(&["HGET", &key, "origin"]).await }).await;
    house.redis.kill();
    let gone = Instant::now();
    // What needs no Redis is answered; the rest says that it was not done, or that nobody knows.
    assert_eq!(client.ok("ping", json!([])).await, "pong");
    let info = client.ok("server_info", json!([])).await;
    assert!(info.get("store").is_none(), "{info}");
    let calls = [
        ("create_job", json!(["1"])),
        ("get_status", json!([running])),
        ("list_jobs", json!({})),
        ("list_actors", json!([])),
        ("stop_job", json!([NOBODY])),
        ("run_and_wait", json!({"script": "1", "wait_timeout": 1})),
    ];
    let faults: Vec<CallError> = join_all(calls.map(|(method, params)| async { client.fault(method, params).await })).await;
    for fault in &faults {
        assert_eq!(fault.code, 1009, "{fault:?}");
        assert!(["not_done", "unknown"].contains(&fault.data["outcome"].as_str().unwrap()), "{fault:?}");
    }
    assert!(faults[5].data["job_id"].is_string(), "{:?}", faults[5]);
    let pending = tokio::spawn({
        let client = client.clone();
        async move { join_all((50..100).map(|number| run_surely(&client, number))).await }
    });
    tokio::time::sleep_until(gone + AWAY).await;
    house.redis.restart().await;
    let mut results = first;
    results.extend(pending.await.unwrap());
    results.extend(join_all((100..150).map(|number| run_surely(&client, number))).await);
    // The script ran on without Redis, and its first attempt is the one that counts.
    let survived = waiter.await.unwrap();
    assert_eq!((&survived["value"], &survived["attempt"]), (&json!("survived"), &json!(1)));
    client.ok("stop_job", json!([waiting])).await;
    loop {
        // An error ends a subscription; its cursor resumes it.
        let item = follower.next().await;
        if item.get("error").is_some() || item["status"] == "error" {
            break;
        }
    }
    until("the actors are listed", || async { (client.ok("list_actors", json!([])).await.as_array()?.len() == 2).then_some(()) }).await;
    client.ok("delete_job", json!([running])).await;
    // What was sent with an unknown outcome may have come through, so only these jobs are counted.
    for (number, result) in results.iter().enumerate() {
        assert_eq!(result["value"], number + 1);
    }
    let ids: HashSet<&str> = results.iter().map(|result| result["job_id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 150);
    let events: Vec<(String, std::collections::BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    for id in ids {
        assert_eq!(events.iter().filter(|(_, event)| event["job"] == id && event["status"] == "finished").count(), 1, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_subscribes_while_redis_is_gone_is_refused_or_misses_nothing() {
    let redis = Redis::with(&["--save", "", "--appendonly", "yes", "--appendfsync", "always"]).await;
    let mut house = House::on(redis).await;
    let server = Server::of(&house).await;
    let client = server.connect().await;
    house.redis.kill();
    let calls = [(); 5].map(|()| {
        let client = client.clone();
        tokio::spawn(async move { client.subscribe("subscribe_events", json!([])).await })
    });
    until("a refusal", || async { calls.iter().any(tokio::task::JoinHandle::is_finished).then_some(()) }).await;
    house.redis.restart().await;
    let mut followers = vec![client.subscribe("subscribe_events", json!([])).await.unwrap()];
    for call in calls {
        match call.await.unwrap() {
            Ok(items) => followers.push(items),
            Err(fault) => assert_eq!(fault.code, 1009, "{fault:?}"),
        }
    }
    let id = create(&client, json!(["1"])).await;
    for items in followers {
        assert_eq!(items.begun().await.next().await["job_id"], id);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_kills_its_engine_three_times_is_given_up_alone() {
    let (mut house, _server, client) = open(0).await;
    let mut settings = pool_settings(house.redis.directory(), 2);
    settings.engine.limits.call_levels = DEADLY_LEVELS;
    house.hire(settings).await;
    let killer = tokio::spawn({
        let client = client.clone();
        async move { client.fault("run_and_wait", json!({"script": DEADLY, "retries": 5})).await }
    });
    let others = join_all((0..200).map(|number| client.ok("run_and_wait", json!([format!("{number} + 1")])))).await;
    for (number, result) in others.iter().enumerate() {
        assert_eq!((&result["value"], &result["attempt"]), (&json!(number + 1), &json!(1)), "{number}");
    }
    let fault = killer.await.unwrap();
    assert_eq!((fault.code, &fault.data["error"]["kind"], &fault.data["attempt"]), (1101, &json!("crashed"), &json!(3)), "{fault:?}");
    let job = client.ok("get_job", json!([fault.data["job_id"]])).await;
    assert_eq!((&job["crashes"], &job["status"]), (&json!(3), &json!("error")));
    assert_eq!(client.ok("run_and_wait", json!(["40 + 2"])).await["value"], 42);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_redis_refuses_that_cannot_save_was_not_done() {
    let house = House::on(Redis::with(&["--save", "3600 1000000", "--appendonly", "no"]).await).await;
    let (server, redis) = (Server::of(&house).await, &house.redis);
    let client = server.connect().await;
    let id = client.ok("create_job", json!(["1"])).await;
    let save = async |status: &str| {
        let _: String = redis.run(&["BGSAVE"]).await;
        until("the end of the save", || async {
            redis.run::<String>(&["INFO", "persistence"]).await.contains(&format!("rdb_last_bgsave_status:{status}")).then_some(())
        })
        .await;
    };
    // A directory of the name of the file: that cannot be written whoever runs this.
    let file = redis.directory().join("dump.rdb");
    std::fs::create_dir(&file).unwrap();
    save("err").await;
    for (method, params) in [("create_job", json!(["2"])), ("start_job", json!([id])), ("delete_job", json!([id]))] {
        let fault = client.fault(method, params).await;
        assert_eq!((fault.code, &fault.data["outcome"]), (1009, &json!("not_done")), "{method}: {fault:?}");
    }
    std::fs::remove_dir(&file).unwrap();
    save("ok").await;
    let jobs = client.ok("list_jobs", json!({})).await["jobs"].as_array().unwrap().clone();
    assert_eq!(jobs.iter().map(|job| (&job["job_id"], job["status"].as_str())).collect::<Vec<_>>(), [(&id, Some("created"))]);
    client.ok("delete_job", json!([id])).await;
    house.close().await;
}
