//! When, where and how often jobs run.

use super::*;
use crate::support::pool_settings;

/// The jobs in the order in which they were started.
async fn started(house: &House) -> Vec<String> {
    let events: Vec<(String, std::collections::BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    events.into_iter().filter(|(_, event)| event["status"] == "started").map(|(_, event)| event["job"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_takes_too_long_ends_with_its_timeout() {
    let (_house, _server, client) = open(1).await;
    let spec = json!({"script": "sleep(1000)", "timeout": 0.05, "retries": 2, "retry_backoff": 0.01});
    let fault = client.fault("run_and_wait", spec).await;
    assert_eq!((fault.code, &fault.data["error"]["kind"], &fault.data["attempt"]), (1101, &json!("timeout"), &json!(3)));
    // The next attempt has all its time again, and the actor is free.
    assert_eq!(client.ok("run_and_wait", json!(["1"])).await["value"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_is_tried_again_and_a_stop_is_not() {
    let (house, _server, client) = open(1).await;
    // Fails until somebody sets its arguments right.
    let id =
        start(&client, json!({"script": "if args.bad { throw 1 } 7", "args": {"bad": true}, "retries": 50, "retry_backoff": 0.02})).await;
    let mut items = client.subscribe("subscribe_job", json!([id])).await.unwrap();
    while items.next().await["attempt"] != 2 {}
    let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{}", id.as_str().unwrap()), "args", r#"{"bad":false}"#]).await;
    let result = client.ok("wait_job", json!([id])).await;
    assert!(result["value"] == 7 && result["attempt"].as_u64().unwrap() >= 3, "{result}");
    let job = client.ok("get_job", json!([id])).await;
    assert!(job.get("error").is_none(), "{job}");
    let id = start(&client, json!({"script": "loop {}", "retries": 50, "retry_backoff": 0.01})).await;
    is(&client, &id, "started").await;
    assert_eq!(client.ok("stop_job", json!([id])).await, "error");
    assert_eq!(client.fault("wait_job", json!([id])).await.data["attempt"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn urgent_jobs_start_first_and_equals_in_turn() {
    let (mut house, _server, client) = open(0).await;
    let mut expected = [Vec::new(), Vec::new(), Vec::new()];
    for number in 0..30_usize {
        let priority = [2, 0, 1][number % 3];
        let id = start(&client, json!({"script": "1", "priority": priority})).await;
        expected[priority].push(id.as_str().unwrap().to_owned());
    }
    let last = expected[2].last().unwrap().clone();
    let settings = pool_settings(house.redis.directory(), 1);
    house.hire(settings).await;
    client.ok("wait_job", json!([last])).await;
    assert_eq!(started(&house).await, expected.concat());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_named_group_or_instance_runs_the_job() {
    let (mut house, _server, client) = open(0).await;
    let mut settings = pool_settings(house.redis.directory(), 2);
    settings.group = "io".parse().unwrap();
    house.hire(settings).await;
    let settings = pool_settings(house.redis.directory(), 2);
    house.hire(settings).await;
    let actor = async |spec: Value| {
        let id = client.ok("run_and_wait", spec).await["job_id"].clone();
        client.ok("get_job", json!([id])).await["actor"].as_str().unwrap().to_owned()
    };
    for _ in 0..5 {
        assert_eq!(actor(json!({"script": "1", "group": "io", "instance": 2})).await, "osis:io:2");
        assert_eq!(actor(json!({"script": "1", "instance": 1})).await, "osis:default:1");
        assert_eq!(actor(json!({"script": "1", "worker_id": "2"})).await, "osis:default:2");
        assert!(actor(json!({"script": "1", "group": "io"})).await.starts_with("osis:io:"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_waits_for_its_time() {
    let (house, _server, client) = open(1).await;
    let due = house.store.clock().now().plus(std::time::Duration::from_millis(400));
    let id = create(&client, json!({"script": "1", "run_at": due})).await;
    assert_eq!(client.ok("get_status", json!([id])).await, "created");
    assert_eq!(client.ok("start_job", json!([id])).await, "scheduled");
    let result = client.ok("wait_job", json!([id])).await;
    assert!(result["started_at"].as_str().unwrap().parse::<hero::model::Timestamp>().unwrap() >= due, "{result} before {due}");
    // A time that is over is now.
    let result = client.ok("run_and_wait", json!({"script": "2", "run_at": "2020-01-01T00:00:00Z"})).await;
    assert_eq!(result["value"], 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_kept_as_long_as_they_shall_be() {
    let (house, _server, client) = open(1).await;
    let ttl = async |id: &Value| house.redis.run::<i64>(&["TTL", &format!("hero:job:{}", id.as_str().unwrap())]).await;
    let day = 24 * 3600;
    let waited = client.ok("run_and_wait", json!(["1"])).await["job_id"].clone();
    assert!((3590..=3600).contains(&ttl(&waited).await));
    let started = start(&client, json!(["1"])).await;
    client.ok("wait_job", json!([started])).await;
    assert!((day - 10..=day).contains(&ttl(&started).await));
    let failed = start(&client, json!(["throw 1"])).await;
    is(&client, &failed, "error").await;
    assert!((7 * day - 10..=7 * day).contains(&ttl(&failed).await));
    let own = client.ok("run_and_wait", json!({"script": "print(1)", "retention": 100})).await["job_id"].clone();
    assert!((90..=100).contains(&ttl(&own).await));
    let log = house.redis.run::<i64>(&["TTL", &format!("hero:log:{}", own.as_str().unwrap())]).await;
    assert!((90..=100).contains(&log), "{log}");
    let gone = client.ok("run_and_wait", json!({"script": "1", "retention": 0})).await["job_id"].clone();
    until("the job is gone", || async { (client.call("get_status", json!([gone])).await.err()?.code == 1001).then_some(()) }).await;
}
