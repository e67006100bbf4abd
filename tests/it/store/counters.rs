//! Counters and indexes: found without a scan, and removed in the end.

use hero::model::{JobId, JobSpec};
use hero::store::{AttemptEnd, Ended, NewJob, Store};

use super::relations::{create, ended, fetch};
use crate::support::Redis;

fn job(script_type: &str) -> NewJob {
    let spec = JobSpec { script: "1".into(), script_type: script_type.parse().unwrap(), ..JobSpec::default() };
    NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None }
}

#[tokio::test]
async fn counters_of_invented_types_are_few_and_end() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.jobs().create_all_or_none(&[job("osis")]).await.unwrap();
    for round in 0..3 {
        let jobs: Vec<NewJob> = (0..500).map(|number| job(&format!("invented-{round}-{number}"))).collect();
        store.jobs().create_all_or_none(&jobs).await.unwrap();
    }
    let keys: Vec<String> = redis.run(&["KEYS", "hero:meta:queue:stats:*"]).await;
    assert_eq!(keys.len(), 1000);
    for key in keys.iter().step_by(50) {
        let seconds: i64 = redis.run(&["TTL", key]).await;
        assert!((1..=30 * 86_400).contains(&seconds), "{key}: {seconds}");
    }
    // Those that are counted go on.
    store.jobs().create_all_or_none(&[job("osis")]).await.unwrap();
    let counters = store.queues().counters().await.unwrap();
    assert_eq!((counters.len(), counters[&"osis".parse().unwrap()]["created"]), (1000, 2));
    // A counter that nobody moves is forgotten, and makes room.
    let _: i64 = redis.run(&["DEL", &keys[0]]).await;
    store.maintenance().tidy().await.unwrap();
    store.jobs().create_all_or_none(&[job("newest")]).await.unwrap();
    let counters = store.queues().counters().await.unwrap();
    assert!(counters.len() == 1000 && counters.contains_key(&"newest".parse().unwrap()));
}

#[tokio::test]
async fn counters_that_move_are_kept_for_another_month() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.jobs().create_all_or_none(&[job("osis")]).await.unwrap();
    let key = "hero:meta:queue:stats:osis";
    let _: i64 = redis.run(&["EXPIRE", key, "1000"]).await;
    // Not each call looks.
    crate::support::until("another month", || async {
        store.jobs().create_all_or_none(&[job("osis")]).await.unwrap();
        (redis.run::<i64>(&["TTL", key]).await > 29 * 86_400).then_some(())
    })
    .await;
}

#[tokio::test]
async fn an_hour_is_known_while_it_has_jobs() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let new = job("osis");
    store.jobs().create_all_or_none(std::slice::from_ref(&new)).await.unwrap();
    let hours = store.maintenance().index_hours().await.unwrap();
    assert_eq!(hours, [store.clock().now().hour()]);
    store.maintenance().tidy().await.unwrap();
    assert_eq!(store.maintenance().index_hours().await.unwrap(), hours);
    let _: i64 = redis.run(&["DEL", &format!("hero:job:{}", new.id)]).await;
    store.maintenance().prune(&hours[0], Default::default()).await.unwrap();
    store.maintenance().tidy().await.unwrap();
    assert!(store.maintenance().index_hours().await.unwrap().is_empty());
    assert!(!redis.run::<bool>(&["EXISTS", "hero:meta:hours"]).await);
}

async fn counted(store: &Store, what: &str) -> u64 {
    store.queues().counters().await.unwrap()[&"osis".parse().unwrap()].get(what).copied().unwrap_or(0)
}

#[tokio::test]
async fn a_job_that_is_requeued_and_taken_again_has_started_once() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (id, _) = create(&store, JobSpec { retries: 1, ..JobSpec::default() }).await;
    let mut end = ended(&id);
    for claim in 1..=3 {
        assert_eq!(fetch(&store, &[], 1).await, std::slice::from_ref(&id));
        end.claim = claim;
        if claim < 3 {
            fetch(&store, &[Ended { end: AttemptEnd::Requeued, ..end.clone() }], 0).await;
        }
        assert_eq!(counted(&store, "started").await, 1, "claim {claim}");
    }
    // A crash is another matter: what runs then is the second attempt.
    fetch(&store, &[Ended { end: AttemptEnd::Crashed, ..end.clone() }], 0).await;
    assert_eq!(fetch(&store, &[], 1).await, std::slice::from_ref(&id));
    assert_eq!(counted(&store, "started").await, 2);
    fetch(&store, &[Ended { claim: 4, ..end }], 0).await;
    let job = store.jobs().get(&id).await.unwrap().unwrap();
    assert_eq!((job.status, job.attempt, counted(&store, "finished").await), (hero::model::Status::Finished, 2, 1));
}

#[tokio::test]
async fn a_foreign_run_that_nobody_saw_is_counted_as_started_too() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for _ in 0..3 {
        let (id, _) = create(&store, JobSpec::default()).await;
        let _: i64 = redis.run(&["LREM", "hero:q:work:type:osis", "1", id.as_str()]).await;
        let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "status", "finished", "output", "1"]).await;
        store.clock().advance(std::time::Duration::from_secs(1));
        store.queues().reap(128).await.unwrap();
    }
    assert_eq!((counted(&store, "started").await, counted(&store, "finished").await), (3, 3));
}
