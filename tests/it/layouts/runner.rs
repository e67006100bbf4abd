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

pub(super) async fn result(redis: &Redis, key: &str) -> Value {
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
    let jobs = house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
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
    let jobs = house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
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
    let jobs = house.dispatcher.jobs().list(CONTEXT, &Default::default(), None, 10).await.unwrap().jobs;
    house.dispatcher.jobs().stop(CONTEXT, &jobs[0].job_id).await.unwrap();
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

/// The error of a runner job, once it has ended in one.
async fn fails(redis: &Redis, key: &str) -> String {
    becomes(redis, key, "status", "error").await;
    result(redis, key).await["error"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn runner_jobs_that_wait_for_each_other_end_in_an_error_that_names_them() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let mut keys = Vec::new();
    for (n, other) in [(21, "22"), (22, "job:12:23"), (23, "job:12:21")] {
        keys.push(materialise(redis, n, "1", &[("prerequisites", &format!("[\"{other}\"]"))]).await);
    }
    for key in &keys {
        lpush(redis, "queue:osis", key).await;
    }
    let mut errors = Vec::new();
    for key in &keys {
        errors.push(fails(redis, key).await);
    }
    assert_eq!(errors[0], "it would wait for itself, through job job:12:22, job:12:23");
    let itself = materialise(redis, 24, "1", &[("prerequisites", "[24]")]).await;
    lpush(redis, "queue:osis", &itself).await;
    assert_eq!(fails(redis, &itself).await, "it would wait for itself");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_runner_job_waits_for_is_written_readably_is_bounded_and_exists() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let many = serde_json::to_string(&(100..1101).collect::<Vec<u32>>()).unwrap();
    let long = format!("[\"{}\"]", "7".repeat(70_000));
    for (n, prerequisites, error) in [
        (41, many.as_str(), "it names more than 1000 prerequisites"),
        (42, long.as_str(), "its prerequisites have more than 65536 bytes"),
        (
            43,
            "[\"6f1c4d1e-8f5b-4c7e-9d0a-2b3c4d5e6f70\"]",
            "its prerequisites cannot be read: a JSON list of jobs such as \"job:12:7\" is expected",
        ),
    ] {
        let key = materialise(redis, n, "1", &[("prerequisites", prerequisites)]).await;
        lpush(redis, "queue:osis", &key).await;
        assert_eq!(fails(redis, &key).await, error);
    }
    // One that is there a little later does, and one that never is does not.
    let (late, never) =
        (materialise(redis, 44, "1", &[("prerequisites", "[45]")]).await, materialise(redis, 46, "1", &[("prerequisites", "[47]")]).await);
    for key in [&late, &never] {
        lpush(redis, "queue:osis", key).await;
        becomes(redis, key, "status", "waiting_for_prerequisites").await;
    }
    materialise(redis, 45, "1", &[("status", "finished")]).await;
    becomes(redis, &late, "status", "finished").await;
    house.store.clock().advance(std::time::Duration::from_secs(6));
    assert_eq!(fails(redis, &never).await, "prerequisite job:12:47 does not exist");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_job_has_its_dependends_wait_whoever_wrote_them() {
    let house = House::open(1).await;
    let redis = &house.redis;
    // It is with a runner of somebody else.
    let open = materialise(redis, 50, "1", &[("status", "started"), ("updated_at", "9999999999")]).await;
    let first = materialise(redis, 51, "1", &[("prerequisites", "[50]"), ("dependends", "[52, 50, 99]")]).await;
    let second = materialise(redis, 52, "2", &[("prerequisites", "[]")]).await;
    for key in [&first, &second] {
        lpush(redis, "queue:osis", key).await;
        becomes(redis, key, "status", "waiting_for_prerequisites").await;
    }
    assert_eq!(hget(redis, &second, "prerequisites").await.as_deref(), Some("[\"job:12:51\"]"));
    hset(redis, &open, &[("status", "finished")]).await;
    for key in [&first, &second] {
        becomes(redis, key, "status", "finished").await;
    }
    house.close().await;
}

#[tokio::test]
async fn however_many_runner_jobs_wait_for_however_many_a_call_looks_at_few() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    // Twenty jobs that wait for a thousand which another runner has.
    let code = "local names = {} \
        for n = 1, 1000 do names[n] = 'job:12:' .. n redis.call('HSET', 'job:12:' .. n, 'status', 'started') end \
        for n = 2001, 2020 do \
            redis.call('HSET', 'job:12:' .. n, 'script', '1', 'status', 'dispatched', 'prerequisites', cjson.encode(names)) \
            redis.call('LPUSH', 'queue:osis', 'job:12:' .. n) \
        end";
    let _: Option<String> = redis.run(&["EVAL", code, "0"]).await;
    let script_type: hero::model::ScriptType = "osis".parse().unwrap();
    let queues = store.queues().of_layouts(&script_type, &hero::store::Layouts::all(&script_type));
    let looks_of_a_call = async || {
        let _: String = redis.run(&["CONFIG", "RESETSTAT"]).await;
        store.queues().import(&script_type, &queues, 128).await.unwrap();
        let info: String = redis.run(&["INFO", "commandstats"]).await;
        let calls = info.lines().find_map(|line| line.strip_prefix("cmdstat_hget:calls="));
        calls.map_or(0, |calls| calls.split(',').next().unwrap().parse::<u32>().unwrap())
    };
    let waiting = async || redis.run::<i64>(&["ZCARD", "hero:q:unwritten"]).await;
    // At first it is looked for circles, too.
    let mut calls = 0;
    while waiting().await < 20 {
        let looks = looks_of_a_call().await;
        assert!(looks <= 8000, "{looks} looks in a call");
        calls += 1;
        assert!(calls < 100, "{} wait", waiting().await);
    }
    // All twenty together wait for 20,000.
    store.clock().advance(std::time::Duration::from_secs(61));
    store.jobs().promote(128).await.unwrap();
    assert_eq!((waiting().await, llen(&redis, "queue:osis").await), (0, 20));
    while llen(&redis, "queue:osis").await > 0 {
        let looks = looks_of_a_call().await;
        assert!(looks <= 1500, "{looks} looks in a call");
    }
    assert_eq!(waiting().await, 20);
}
