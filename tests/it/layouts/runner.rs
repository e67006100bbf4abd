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

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_numbered_is_seen_as_the_coordinator_says_until_it_is_deleted() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let create = async |spec: Value| house.dispatcher.create(serde_json::from_value(spec).unwrap()).await.unwrap();
    let spec = json!({ "script": "`${env.WHO} ${40 + 2}`", "caller_id": "12", "env_vars": { "WHO": "me" }, "retries": 1 });
    let job = create(spec).await;
    // Numbers of others are left to them.
    hset(redis, "job:12:1", &[("script", "1")]).await;
    let key = house.dispatcher.number(CONTEXT, &job).await.unwrap();
    assert_eq!(key, "job:12:2");
    assert_eq!(house.dispatcher.number(CONTEXT, &job).await.unwrap(), key, "it keeps its number");
    let id = job.to_string();
    let expected = [
        ("id", "2"),
        ("caller_id", "12"),
        ("context_id", "0"),
        ("script", "`${env.WHO} ${40 + 2}`"),
        ("script_type", "osis"),
        ("retries", "1"),
        ("env_vars", "{\"WHO\":\"me\"}"),
        ("result", "{}"),
        ("prerequisites", "[]"),
        ("dependends", "[]"),
        ("status", "dispatched"),
        ("job_id", &*id),
    ];
    for (field, value) in expected {
        assert_eq!(hget(redis, &key, field).await.as_deref(), Some(value), "{field}");
    }
    assert!(ttl(redis, &key).await > 0);
    house.dispatcher.start(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "finished").await;
    assert_eq!(result(redis, &key).await, json!({ "output": "me 42" }));
    let of_job = ttl(redis, &format!("hero:job:{job}")).await;
    assert!((of_job - ttl(redis, &key).await).abs() <= 1);
    // One that has ended has its result at once, and one that fails its error; whoever has no number has 0.
    let failed = create(json!({ "script": "throw \"broken\"" })).await;
    house.dispatcher.start(CONTEXT, &failed).await.unwrap();
    becomes(redis, &format!("hero:job:{failed}"), "status", "error").await;
    let other = house.dispatcher.number(CONTEXT, &failed).await.unwrap();
    assert_eq!((&*other, hget(redis, &other, "status").await.as_deref()), ("job:0:3", Some("error")));
    assert!(result(redis, &other).await["error"].as_str().unwrap().contains("broken"));
    // It goes with its job, and what another program wrote under such a name does not.
    for job in [&job, &failed] {
        house.dispatcher.delete(CONTEXT, job).await.unwrap();
    }
    let left: i64 = redis.run(&["EXISTS", &key, &other, "job:12:1"]).await;
    assert_eq!(left, 1);
    assert!(house.dispatcher.number(CONTEXT, &job).await.unwrap_err().to_string().contains("does not exist"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_numbered_job_that_is_deleted_for_want_of_memory_goes_with_its_hash_here() {
    let house = House::open(1).await;
    let (redis, store) = (&house.redis, &house.store);
    let create = async || house.dispatcher.create(serde_json::from_value(json!({ "script": "1" })).unwrap()).await.unwrap();
    let (job, open) = (create().await, create().await);
    let keys = [house.dispatcher.number(CONTEXT, &job).await.unwrap(), house.dispatcher.number(CONTEXT, &open).await.unwrap()];
    house.dispatcher.start(CONTEXT, &job).await.unwrap();
    becomes(redis, &keys[0], "status", "finished").await;
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{job}"), "finished_at", "2020-01-01T00:00:00.000Z"]).await;
    for hour in store.maintenance().index_hours().await.unwrap() {
        store.maintenance().evict(&hour, 0, false).await.unwrap();
    }
    let left = async |key: &str| redis.run::<i64>(&["EXISTS", key]).await == 1;
    assert!(!left(&format!("hero:job:{job}")).await && !left(&keys[0]).await);
    assert!(left(&keys[1]).await && ttl(redis, &keys[1]).await > 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_runs_is_numbered_and_its_end_is_written_there() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let spec = json!({ "script": "sleep(60); 1", "timeout": 90 });
    let job = house.dispatcher.create(serde_json::from_value(spec).unwrap()).await.unwrap();
    house.dispatcher.start(CONTEXT, &job).await.unwrap();
    becomes(redis, &format!("hero:job:{job}"), "status", "started").await;
    let key = house.dispatcher.number(CONTEXT, &job).await.unwrap();
    assert_eq!(hget(redis, &key, "status").await.as_deref(), Some("started"));
    house.dispatcher.stop(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "error").await;
    assert!(ttl(redis, &key).await > 0);
    house.close().await;
}

/// The number of commands that Redis received, including those of its functions.
async fn commands(redis: &Redis) -> u64 {
    let said: String = redis.run(&["INFO", "commandstats"]).await;
    let of = |line: &str| line.strip_prefix("cmdstat_")?.split("calls=").nth(1)?.split(',').next()?.parse::<u64>().ok();
    let counted = |line: &&str| {
        ["hset", "hmget", "hget", "expire", "set", "get", "exists", "ttl", "hlen"]
            .iter()
            .any(|name| line.starts_with(&format!("cmdstat_{name}:")))
    };
    said.lines().filter(counted).filter_map(of).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_job_that_is_numbered_costs_more() {
    let house = House::empty().await;
    let redis = &house.redis;
    let job = async || house.dispatcher.create(serde_json::from_value(json!({ "script": "1" })).unwrap()).await.unwrap();
    job().await;
    let before = commands(redis).await;
    let plain = job().await;
    let after = commands(redis).await;
    let key = house.dispatcher.number(CONTEXT, &plain).await.unwrap();
    let numbered = commands(redis).await;
    assert!(after - before < numbered - after, "a job: {} commands on hashes and texts, its number: {}", after - before, numbered - after);
    assert_eq!(hget(redis, &format!("hero:job:{plain}"), "dialect_key").await, Some(key));
    let another = job().await;
    assert_eq!(hget(redis, &format!("hero:job:{another}"), "dialect").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_numbered_job_that_runs_again_keeps_its_hash_without_its_last_result_and_is_never_torn() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let spec = json!({ "script": "sleep(60); 1", "timeout": 90, "caller_id": "12" });
    let job = house.dispatcher.create(serde_json::from_value(spec).unwrap()).await.unwrap();
    let of_job = format!("hero:job:{job}");
    let key = house.dispatcher.number(CONTEXT, &job).await.unwrap();
    house.dispatcher.start(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "started").await;
    house.dispatcher.stop(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "error").await;
    assert_ne!(result(redis, &key).await, json!({}));
    // Soon it would go.
    let _: i64 = redis.run(&["EXPIRE", &key, "1000"]).await;
    house.dispatcher.retry(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "started").await;
    assert!(ttl(redis, &key).await > 1000);
    assert_eq!(result(redis, &key).await, json!({}));
    // It has gone: nothing is begun again with a part of it.
    let _: i64 = redis.run(&["DEL", &key]).await;
    house.dispatcher.stop(CONTEXT, &job).await.unwrap();
    becomes(redis, &of_job, "status", "error").await;
    let there: i64 = redis.run(&["EXISTS", &key]).await;
    assert_eq!(there, 0);
    // Who asks for it has it whole again.
    assert_eq!(house.dispatcher.number(CONTEXT, &job).await.unwrap(), key);
    for (field, value) in [("id", "1"), ("caller_id", "12"), ("status", "error"), ("job_id", &*job.to_string()), ("script", "sleep(60); 1")]
    {
        assert_eq!(hget(redis, &key, field).await.as_deref(), Some(value), "{field}");
    }
    assert!(result(redis, &key).await["error"].is_string());
    // Where another job has got the number, what happens to this one is not written there.
    hset(redis, &key, &[("job_id", "another"), ("status", "its own")]).await;
    house.dispatcher.retry(CONTEXT, &job).await.unwrap();
    becomes(redis, &of_job, "status", "started").await;
    assert_eq!(hget(redis, &key, "status").await.as_deref(), Some("its own"));
    assert_ne!(house.dispatcher.number(CONTEXT, &job).await.unwrap(), key);
    house.dispatcher.stop(CONTEXT, &job).await.unwrap();
    house.close().await;
}
