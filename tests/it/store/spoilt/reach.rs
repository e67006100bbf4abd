//! Keys that a job names are written only within their layout.

use hero::model::{JobId, JobSpec, Status};
use hero::store::Retried;

use super::{create, fetch, finish, house, key};

#[tokio::test]
async fn a_job_that_names_a_key_of_ours_as_its_mirror_changes_nothing_there() {
    let (redis, store) = house().await;
    let (_first, _) = create(&store, JobSpec::default()).await;
    fetch(&store, &[], 9).await;
    let _: i64 = redis.run(&["HSET", "hero:meta:queue:stats:x", "created", "1"]).await;
    let _: i64 = redis.run(&["HSET", "rhai_task_details:", "a", "1"]).await;
    let keys =
        ["hero:meta:queues", "hero:events", "hero:meta:queue:stats:x", "hero:index:*", "rhai_task_details:", "job:1:x", "queue:osis"];
    for (layout, named) in ["rhailib", "runner"].into_iter().flat_map(|layout| keys.map(|named| (layout, named))) {
        let id = JobId::random();
        let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "dialect", layout, "dialect_key", named]).await;
        let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
        finish(&store, &id).await;
    }
    for key in ["hero:meta:queues", "hero:events", "hero:meta:queue:stats:x", "rhai_task_details:"] {
        assert_eq!(redis.run::<i64>(&["TTL", key]).await, -1, "{key}");
    }
    for key in ["hero:meta:queue:stats:x", "rhai_task_details:"] {
        assert_eq!(redis.run::<Vec<String>>(&["HGETALL", key]).await.len(), 2, "{key}");
    }
    assert_eq!(redis.run::<i64>(&["EXISTS", "hero:index:*", "job:1:x", "queue:osis"]).await, 0);
    // A hash of the layout that is there is written as ever.
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", "job:1:2", "script", "1"]).await;
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "dialect", "runner", "dialect_key", "job:1:2"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
    finish(&store, &id).await;
    assert_eq!(redis.run::<String>(&["HGET", "job:1:2", "status"]).await, "finished");
}

#[tokio::test]
async fn a_job_that_names_a_key_of_ours_as_its_shadow_gets_nothing_pushed_there() {
    let (redis, store) = house().await;
    let (other, nobody) = (JobId::random(), JobId::random());
    let _: i64 = redis.run(&["HSET", &key(&other), "script", "1"]).await;
    for shadow in ["hero:q:release", "hero:q:work:type:sal", "hero:q:reply:x", "hero:job:actor_queue:a b", &key(&other), &key(&nobody)] {
        let (id, _) = create(&store, JobSpec::default()).await;
        finish(&store, &id).await;
        let _: i64 = redis.run(&["HSET", &key(&id), "dialect", "legacy", "twin", shadow, "twin_only", "1"]).await;
        assert!(matches!(store.jobs().retry(&id).await.unwrap(), Retried::OnItsWay(Status::Dispatched)), "{shadow}");
        assert_eq!(redis.run::<String>(&["TYPE", shadow]).await, if shadow == key(&other) { "hash" } else { "none" }, "{shadow}");
        // It is in our queue, and nobody is said to have taken it from the other one.
        finish(&store, &id).await;
    }
}

#[tokio::test]
async fn a_job_that_names_a_key_of_ours_for_its_reply_gets_nothing_pushed_there() {
    let (redis, store) = house().await;
    let answered = ["my:replies", "hero:q:reply:mine", "hero:reply:mine"];
    for reply_to in ["hero:q:work:type:sal", "hero:q:conveyor", "hero:rel:x:children"].into_iter().chain(answered) {
        let (id, _) = create(&store, JobSpec::default()).await;
        let _: i64 = redis.run(&["HSET", &key(&id), "reply_to", reply_to]).await;
        finish(&store, &id).await;
        assert_eq!(redis.run::<i64>(&["LLEN", reply_to]).await, i64::from(answered.contains(&reply_to)), "{reply_to}");
    }
}
