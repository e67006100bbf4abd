//! Jobs whose hash, relatives or ids are not as they should be.

use std::time::Duration;

use hero::model::{JobId, JobSpec, Status};
use hero::store::{Created, Deleted, Retried};

use super::{create, fetch, finish, house, job, key, now, release};

#[tokio::test]
async fn a_key_that_is_no_hash_is_no_relative() {
    let (redis, store) = house().await;
    let list = JobId::random();
    let _: i64 = redis.run(&["LPUSH", &key(&list), "x"]).await;
    for spec in [
        JobSpec { prerequisites: vec![list.clone()], ..JobSpec::default() },
        JobSpec { parent_id: Some(list.clone()), ..JobSpec::default() },
        JobSpec { predecessor_id: Some(list.clone()), ..JobSpec::default() },
        JobSpec { dependents: vec![list.clone()], ..JobSpec::default() },
    ] {
        assert!(matches!(store.jobs().create(job(spec)).await.unwrap(), Created::NoRelative(_, ids) if ids == [list.clone()]));
    }
    // The same from outside: the job ends, and the one taken with it runs.
    let (bad, good) = (JobId::random(), JobId::random());
    let _: i64 = redis.run(&["HSET", &key(&bad), "script", "1", "prerequisites", "[\"somebody\"]"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:job:somebody", "x"]).await;
    let _: i64 = redis.run(&["HSET", &key(&good), "script", "1"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", bad.as_str(), good.as_str()]).await;
    assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(&good));
    assert_eq!(now(&store, &bad).await, Status::Error);
}

#[tokio::test]
async fn a_job_that_was_ended_past_its_actor_and_deleted_lets_its_dependents_go() {
    let (redis, store) = house().await;
    let (first, _) = create(&store, JobSpec::default()).await;
    let (second, _) = create(&store, JobSpec { prerequisites: vec![first.clone()], ..JobSpec::default() }).await;
    assert_eq!(fetch(&store, &[], 9).await, std::slice::from_ref(&first));
    let _: i64 = redis.run(&["HSET", &key(&first), "status", "finished", "output", "1"]).await;
    assert_eq!(store.jobs().delete(&first).await.unwrap(), Deleted::Deleted);
    release(&store).await;
    assert_eq!(now(&store, &second).await, Status::Dispatched);
}

#[tokio::test]
async fn a_parent_that_runs_again_is_kept_for_its_children() {
    let (_redis, store) = house().await;
    let (grandparent, _) = create(&store, JobSpec::default()).await;
    let (parent, _) = create(&store, JobSpec { parent_id: Some(grandparent.clone()), ..JobSpec::default() }).await;
    let (child, _) = create(&store, JobSpec { parent_id: Some(parent.clone()), ..JobSpec::default() }).await;
    let (continuation, _) = create(&store, JobSpec { predecessor_id: Some(grandparent.clone()), ..JobSpec::default() }).await;
    finish(&store, &grandparent).await;
    finish(&store, &parent).await;
    assert!(matches!(store.jobs().retry(&parent).await.unwrap(), Retried::OnItsWay(_)));
    assert!(matches!(store.jobs().delete(&parent).await.unwrap(), Deleted::Open(_)));
    store.jobs().stop(&parent).await.unwrap();
    finish(&store, &child).await;
    assert_eq!(now(&store, &continuation).await, Status::Dispatched);
}

#[tokio::test]
async fn a_retry_that_would_wait_for_itself_is_refused() {
    let (_redis, store) = house().await;
    let (root, _) = create(&store, JobSpec::default()).await;
    let (continuation, _) = create(&store, JobSpec { predecessor_id: Some(root.clone()), ..JobSpec::default() }).await;
    finish(&store, &root).await;
    finish(&store, &continuation).await;
    let of_root = JobSpec { parent_id: Some(root.clone()), ..JobSpec::default() };
    let (child, _) = create(&store, JobSpec { prerequisites: vec![continuation.clone()], ..of_root.clone() }).await;
    finish(&store, &child).await;
    let (_running, _) = create(&store, of_root).await;
    assert_eq!(store.jobs().retry(&continuation).await.unwrap(), Retried::OnItsWay(Status::WaitingForPrerequisites));
    assert_eq!(store.jobs().retry(&child).await.unwrap(), Retried::Cycle(Status::Finished));
}

#[tokio::test]
async fn a_status_that_nobody_knows_is_taken_for_that_of_an_actor_that_may_die() {
    let (redis, store) = house().await;
    let (id, _) = create(&store, JobSpec::default()).await;
    let _: String = redis.run(&["RPOP", "hero:q:work:type:osis"]).await;
    let _: i64 = redis.run(&["HSET", &key(&id), "status", "running"]).await;
    for _ in 0..2 {
        store.clock().advance(Duration::from_secs(100));
        store.queues().reap(128).await.unwrap();
    }
    assert_eq!(fetch(&store, &[], 9).await, [id]);
}

#[tokio::test]
async fn numbers_that_are_none_stop_no_round() {
    let (redis, store) = house().await;
    let (odd, _) = create(&store, JobSpec { retries: 1, ..JobSpec::default() }).await;
    let (other, _) = create(&store, JobSpec::default()).await;
    for id in [&odd, &other] {
        let _: String = redis.run(&["RPOP", "hero:q:work:type:osis"]).await;
        let _: i64 = redis.run(&["HSET", &key(id), "status", "error", "error", "no", "retry_backoff", "nan"]).await;
    }
    store.clock().advance(Duration::from_secs(10));
    store.queues().reap(128).await.unwrap();
    assert_eq!(now(&store, &odd).await, Status::Scheduled);
    let due: Option<f64> = redis.run(&["ZSCORE", "hero:q:scheduled", odd.as_str()]).await;
    assert!(due.is_some());
    assert!(redis.run::<i64>(&["TTL", &key(&other)]).await > 0);
}

#[tokio::test]
async fn a_job_that_is_held_back_keeps_the_type_of_its_queue() {
    let (redis, store) = house().await;
    let (first, _) = create(&store, JobSpec::default()).await;
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "prerequisites", &format!("[\"{first}\"]")]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:sal", id.as_str()]).await;
    let (sal, queues) = ("sal".parse().unwrap(), [("hero:q:work:type:sal".to_owned(), 0)]);
    let actors = [hero::store::ActorRoom { actor: "sal:default:1".into(), room: 1 }];
    let fetched =
        store.queues().fetch(&hero::store::Fetch { script_type: &sal, ends: &[], actors: &actors, queues: &queues }).await.unwrap();
    assert!(fetched.taken.is_empty());
    finish(&store, &first).await;
    assert_eq!(redis.run::<Vec<String>>(&["LRANGE", "hero:q:work:type:sal", "0", "-1"]).await, [id.to_string()]);
}

#[tokio::test]
async fn one_idempotency_key_is_one_entry_of_a_group() {
    let (redis, _store) = house().await;
    let house = crate::support::House::on(redis).await;
    let entry = JobSpec { idempotency_key: Some("k".into()), ..crate::support::spec("1") };
    let refused = house.dispatcher.jobs().create_many(vec![entry.clone(), entry]).await.unwrap_err();
    assert!(refused.to_string().starts_with("jobs[1]: idempotency_key"), "{refused}");
    house.close().await;
}

#[tokio::test]
async fn a_foreign_actor_is_told_once_of_a_stop_that_is_asked_for_often() {
    let (redis, store) = house().await;
    let id = JobId::random();
    let _: i64 = redis.run(&["HSET", &key(&id), "script", "1", "script_type", "osis", "status", "started", "worker_id", "w"]).await;
    for _ in 0..5 {
        store.jobs().stop(&id).await.unwrap();
    }
    for queue in ["hero:q:ctl:type:osis", "hero:stop_queue:w"] {
        assert_eq!(redis.run::<Vec<String>>(&["LRANGE", queue, "0", "-1"]).await, [id.to_string()], "{queue}");
    }
}
