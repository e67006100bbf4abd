//! *coordinator-spec*: a job of ours that has a number stands at `job:{caller}:{n}`, too.

use serde_json::{Value, json};

use super::runner::result;
use super::{becomes, hget, hset, ttl};
use crate::support::{CONTEXT, House, Redis};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_is_numbered_is_seen_as_the_coordinator_says_until_it_is_deleted() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let create = async |spec: Value| house.dispatcher.jobs().create(serde_json::from_value(spec).unwrap()).await.unwrap();
    let spec = json!({ "script": "`${env.WHO} ${40 + 2}`", "caller_id": "12", "env_vars": { "WHO": "me" }, "retries": 1 });
    let job = create(spec).await;
    // Numbers of others are left to them.
    hset(redis, "job:12:1", &[("script", "1")]).await;
    let key = house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap();
    assert_eq!(key, "job:12:2");
    assert_eq!(house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap(), key, "it keeps its number");
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
    house.dispatcher.jobs().start(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "finished").await;
    assert_eq!(result(redis, &key).await, json!({ "output": "me 42" }));
    let of_job = ttl(redis, &format!("hero:job:{job}")).await;
    assert!((of_job - ttl(redis, &key).await).abs() <= 1);
    // One that has ended has its result at once, and one that fails its error; whoever has no number has 0.
    let failed = create(json!({ "script": "throw \"broken\"" })).await;
    house.dispatcher.jobs().start(CONTEXT, &failed).await.unwrap();
    becomes(redis, &format!("hero:job:{failed}"), "status", "error").await;
    let other = house.dispatcher.jobs().number(CONTEXT, &failed).await.unwrap();
    assert_eq!((&*other, hget(redis, &other, "status").await.as_deref()), ("job:0:3", Some("error")));
    assert!(result(redis, &other).await["error"].as_str().unwrap().contains("broken"));
    // It goes with its job, and what another program wrote under such a name does not.
    for job in [&job, &failed] {
        house.dispatcher.jobs().delete(CONTEXT, job).await.unwrap();
    }
    let left: i64 = redis.run(&["EXISTS", &key, &other, "job:12:1"]).await;
    assert_eq!(left, 1);
    assert!(house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap_err().to_string().contains("does not exist"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_numbered_job_that_is_deleted_for_want_of_memory_goes_with_its_hash_here() {
    let house = House::open(1).await;
    let (redis, store) = (&house.redis, &house.store);
    let create = async || house.dispatcher.jobs().create(serde_json::from_value(json!({ "script": "1" })).unwrap()).await.unwrap();
    let (job, open) = (create().await, create().await);
    let keys =
        [house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap(), house.dispatcher.jobs().number(CONTEXT, &open).await.unwrap()];
    house.dispatcher.jobs().start(CONTEXT, &job).await.unwrap();
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
    let job = house.dispatcher.jobs().create(serde_json::from_value(spec).unwrap()).await.unwrap();
    house.dispatcher.jobs().start(CONTEXT, &job).await.unwrap();
    becomes(redis, &format!("hero:job:{job}"), "status", "started").await;
    let key = house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap();
    assert_eq!(hget(redis, &key, "status").await.as_deref(), Some("started"));
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "error").await;
    assert!(ttl(redis, &key).await > 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_actor_has_a_word_of_its_own_for_running_is_numbered_as_started() {
    let house = House::empty().await;
    let job = house.dispatcher.jobs().create(serde_json::from_value(json!({ "script": "1" })).unwrap()).await.unwrap();
    let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{job}"), "status", "running"]).await;
    let key = house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap();
    assert_eq!(hget(&house.redis, &key, "status").await.as_deref(), Some("started"));
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
    let job = async || house.dispatcher.jobs().create(serde_json::from_value(json!({ "script": "1" })).unwrap()).await.unwrap();
    job().await;
    // The house has loops, whose commands count, too: so the least of some.
    let (mut least, mut least_numbered) = (u64::MAX, u64::MAX);
    for _ in 0..5 {
        let before = commands(redis).await;
        let plain = job().await;
        let after = commands(redis).await;
        let key = house.dispatcher.jobs().number(CONTEXT, &plain).await.unwrap();
        (least, least_numbered) = (least.min(after - before), least_numbered.min(commands(redis).await - after));
        assert_eq!(hget(redis, &format!("hero:job:{plain}"), "dialect_key").await, Some(key));
    }
    assert!(least < least_numbered, "a job: {least} commands on hashes and texts, its number: {least_numbered}");
    let another = job().await;
    assert_eq!(hget(redis, &format!("hero:job:{another}"), "dialect").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_numbered_job_that_runs_again_keeps_its_hash_without_its_last_result_and_is_never_torn() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let spec = json!({ "script": "sleep(60); 1", "timeout": 90, "caller_id": "12" });
    let job = house.dispatcher.jobs().create(serde_json::from_value(spec).unwrap()).await.unwrap();
    let of_job = format!("hero:job:{job}");
    let key = house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap();
    house.dispatcher.jobs().start(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "started").await;
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "error").await;
    assert_ne!(result(redis, &key).await, json!({}));
    // Soon it would go.
    let _: i64 = redis.run(&["EXPIRE", &key, "1000"]).await;
    house.dispatcher.jobs().retry(CONTEXT, &job).await.unwrap();
    becomes(redis, &key, "status", "started").await;
    assert!(ttl(redis, &key).await > 1000);
    assert_eq!(result(redis, &key).await, json!({}));
    // It has gone: nothing is begun again with a part of it.
    let _: i64 = redis.run(&["DEL", &key]).await;
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    becomes(redis, &of_job, "status", "error").await;
    let there: i64 = redis.run(&["EXISTS", &key]).await;
    assert_eq!(there, 0);
    // Who asks for it has it whole again.
    assert_eq!(house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap(), key);
    for (field, value) in [("id", "1"), ("caller_id", "12"), ("status", "error"), ("job_id", &*job.to_string()), ("script", "sleep(60); 1")]
    {
        assert_eq!(hget(redis, &key, field).await.as_deref(), Some(value), "{field}");
    }
    assert!(result(redis, &key).await["error"].is_string());
    // Where another job has got the number, what happens to this one is not written there.
    hset(redis, &key, &[("job_id", "another"), ("status", "its own")]).await;
    house.dispatcher.jobs().retry(CONTEXT, &job).await.unwrap();
    becomes(redis, &of_job, "status", "started").await;
    assert_eq!(hget(redis, &key, "status").await.as_deref(), Some("its own"));
    assert_ne!(house.dispatcher.jobs().number(CONTEXT, &job).await.unwrap(), key);
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    house.close().await;
}
