//! *coordinator-spec*: the jobs of a runner, `queue:{type}` and `job:{caller}:{n}`.

use serde_json::{Value, json};

use super::{becomes, empties, hget, hset, llen, lpush, ttl};
use crate::support::{CONTEXT, House, Redis};

/// Step 5 of the message flow: a job is materialised.
async fn materialise(redis: &Redis, n: u32, script: &str, more: &[(&str, &str)]) -> String {
    let (key, id) = (format!("job:12:{n}"), n.to_string());
    let mut fields = vec![
        ("id", id.as_str()),
        ("caller_id", "12"),
        ("context_id", "0"),
        ("script", script),
        ("script_type", "osis"),
        ("timeout", "30"),
        ("retries", "0"),
        ("env_vars", "{\"WHO\":\"me\"}"),
        ("result", "{}"),
        ("prerequisites", "[]"),
        ("dependends", "[]"),
        ("created_at", "1767225600"),
        ("updated_at", "1767225600"),
        ("status", "dispatched"),
    ];
    fields.extend(more);
    hset(redis, &key, &fields).await;
    key
}

async fn result(redis: &Redis, key: &str) -> Value {
    serde_json::from_str(&hget(redis, key, "result").await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_job_ends_with_its_result_map() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let key = materialise(redis, 2001, "`${env.WHO} ${40 + 2}`", &[]).await;
    lpush(redis, "queue:osis", &key).await;
    becomes(redis, &key, "status", "finished").await;
    assert_eq!(result(redis, &key).await, json!({ "output": "me 42" }));
    assert!(hget(redis, &key, "updated_at").await.unwrap().parse::<u32>().unwrap() > 1_767_225_600);
    assert_eq!(hget(redis, &key, "created_at").await.as_deref(), Some("1767225600"));
    assert!(ttl(redis, &key).await > 0);
    let jobs = house.dispatcher.list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
    assert_eq!((jobs.len(), jobs[0].caller_id.as_deref(), jobs[0].output.as_deref()), (1, Some("12"), Some("me 42")));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_job_that_fails_is_tried_as_often_as_it_says() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let key = materialise(redis, 2002, "throw \"broken\"", &[("retries", "1")]).await;
    lpush(redis, "queue:osis", &key).await;
    becomes(redis, &key, "status", "error").await;
    let text = result(redis, &key).await;
    assert!(text["error"].as_str().unwrap().contains("broken"), "{text}");
    let jobs = house.dispatcher.list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
    assert_eq!(jobs[0].attempt, 2);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_job_runs_is_stopped_and_says_so_in_the_words_of_the_coordinator() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let key = materialise(redis, 2003, "loop { }", &[]).await;
    lpush(redis, "queue:osis", &key).await;
    becomes(redis, &key, "status", "started").await;
    let jobs = house.dispatcher.list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
    house.dispatcher.stop(CONTEXT, &jobs[0].job_id).await.unwrap();
    becomes(redis, &key, "status", "error").await;
    assert_eq!(result(redis, &key).await, json!({ "error": "stopped_by_request" }));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_job_waits_for_its_prerequisites_whoever_runs_them() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let first = materialise(redis, 1, "1", &[]).await;
    let second = materialise(redis, 2, "2", &[("prerequisites", "[\"1\"]")]).await;
    let third = materialise(redis, 3, "3", &[("prerequisites", "[\"job:12:2\",\"1\"]")]).await;
    let fourth = materialise(redis, 4, "4", &[("prerequisites", "[\"5\"]")]).await;
    let failed = materialise(redis, 5, "5", &[("status", "error")]).await;
    for key in [&third, &second] {
        lpush(redis, "queue:osis", key).await;
        becomes(redis, key, "status", "waiting_for_prerequisites").await;
    }
    // Another runner has it.
    hset(redis, &first, &[("status", "finished"), ("result", "{}")]).await;
    for (key, output) in [(&second, "2"), (&third, "3")] {
        becomes(redis, key, "status", "finished").await;
        assert_eq!(result(redis, key).await, json!({ "output": output }));
    }
    lpush(redis, "queue:osis", &fourth).await;
    becomes(redis, &fourth, "status", "error").await;
    assert_eq!(result(redis, &fourth).await, json!({ "error": format!("prerequisite {failed} ended in error") }));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_job_may_come_before_its_hash_and_what_is_none_harms_nothing() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let _: String = redis.run(&["SET", "job:1:1", "no hash"]).await;
    for element in ["job:1:1", "job:1", "hero:job:x", "job:x:y", "", "job:1:2:3"] {
        lpush(redis, "queue:osis", element).await;
    }
    lpush(redis, "queue:osis", "job:12:9").await;
    empties(redis, "queue:osis").await;
    let key = materialise(redis, 9, "9", &[]).await;
    becomes(redis, &key, "status", "finished").await;
    assert_eq!(result(redis, &key).await, json!({ "output": "9" }));
    assert_eq!(llen(redis, "queue:osis").await, 0);
    house.close().await;
}
