//! Following relations leaves time for other users of Redis. A caller with many relations delays only its own jobs.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use hero::model::{JobId, JobSpec, Json, Status};
use hero::store::{ActorRoom, Created, Error, Fetch, Retried, Store};

use super::after;
use super::bounds::{calls, chain, create, new, together};
use crate::support::{House, Redis, spec};

const STORED: Created = Created::Created(Status::Created);

fn of(caller: &str, spec: JobSpec) -> JobSpec {
    JobSpec { caller_id: Some(caller.into()), ..spec }
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_that_make_redis_follow_many_relations_wait_for_its_time_and_say_what_they_are() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let end = chain(&store, 4_100).await.1;
    let id = create(&store, after(&[&end])).await;
    store.jobs().stop(&id).await.unwrap();
    let other = create(&store, spec("1")).await;
    store.jobs().stop(&other).await.unwrap();
    let began = std::time::Instant::now();
    let many = join_all((0..100).map(|_| store.jobs().retry(&id)));
    let (many, one) = tokio::join!(many, store.jobs().retry(&other));
    let most = 2 + began.elapsed().as_millis() / 100;
    let followed = many.iter().filter(|answer| matches!(answer, Ok(Retried::Tangled))).count();
    assert!((1..=most).contains(&(followed as u128)), "{followed} walks, {most} is what the budget allows");
    // The budget allows 30 walks in the time after which one is refused. Where Redis is far too slow for that, as on a busy machine, that
    // is told instead.
    let is_slow = followed < 30;
    let waited = |answer: &&Result<Retried, Error>| match answer {
        Ok(Retried::Busy) => true,
        Err(Error::Deadline(_)) => is_slow,
        _ => false,
    };
    assert_eq!(many.iter().filter(waited).count(), 100 - followed, "{many:?}");
    assert_eq!(one.unwrap(), Retried::OnItsWay(Status::Dispatched));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_many_relations_followed_waits_for_himself() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let end = chain(&store, 4_100).await.1;
    let (other, first) = (create(&store, spec("1")).await, create(&store, spec("1")).await);
    let flood = (0..100).map(|_| of("mallory", JobSpec { dependents: vec![other.clone()], ..after(&[&end]) })).collect();
    let closes = of("alice", JobSpec { dependents: vec![other.clone()], ..after(&[&first]) });
    // Nothing has to be followed for one that only waits.
    let waits = of("mallory", after(&[&end]));
    let (flood, closes, waits) = tokio::join!(together(&store, flood), store.jobs().create(new(closes)), store.jobs().create(new(waits)));
    assert!(flood.contains(&Created::Busy), "{flood:?}");
    assert_eq!(closes.unwrap(), STORED);
    assert_eq!(waits.unwrap(), STORED);
}

#[tokio::test(flavor = "multi_thread")]
async fn creates_that_wait_for_a_redis_that_pauses_are_not_refused_for_relations() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (other, first) = (create(&store, spec("1")).await, create(&store, spec("1")).await);
    let _: String = redis.run(&["CLIENT", "PAUSE", "3300", "WRITE"]).await;
    let specs = (0..130).map(|_| JobSpec { dependents: vec![other.clone()], ..after(&[&first]) });
    for answer in join_all(specs.map(|spec| store.jobs().create(new(spec)))).await {
        // Where Redis is slow besides, as on a busy machine, that is told, and not that others follow relations.
        assert!(matches!(answer, Ok(STORED) | Err(Error::Deadline(_))), "{answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_small_create_does_not_wait_for_large_ones_that_came_before_it() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (text, done) = (Json::from("x".repeat(1_900_000)), AtomicUsize::new(0));
    let large = join_all((0..24).map(|_| async {
        let job = new(JobSpec { args: Some(text.clone()), ..spec("1") });
        assert_eq!(store.jobs().create(job).await.unwrap(), STORED);
        done.fetch_add(1, Ordering::Relaxed);
    }));
    let small = async {
        assert_eq!(store.jobs().create(new(spec("1"))).await.unwrap(), STORED);
        done.load(Ordering::Relaxed)
    };
    let (_, before) = tokio::join!(large, small);
    assert!(before < 24, "it waited for all of them");
}

/// Jobs in plain hashes that wait for what stands at the end of a chain, and the ends of as many chains.
async fn foreign_jobs(redis: &Redis, store: &Store, chains: usize, of_each: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for _ in 0..chains {
        let end = chain(store, 480).await.1;
        for _ in 0..of_each {
            let (id, list) = (JobId::random(), format!("[\"{end}\"]"));
            let key = format!("hero:job:{id}");
            let _: i64 =
                redis.run(&["HSET", &key, "script", "1", "script_type", "osis", "status", "dispatched", "prerequisites", &list]).await;
            ids.push(id);
        }
    }
    ids
}

async fn indexed_once(redis: &Redis, store: &Store, ids: &[JobId]) {
    let index: Vec<String> = redis.run(&["LRANGE", &format!("hero:index:{}", store.clock().now().hour()), "0", "-1"]).await;
    for id in ids {
        assert_eq!(store.jobs().get(id).await.unwrap().unwrap().status, Status::WaitingForPrerequisites);
        assert_eq!(index.iter().filter(|other| *other == id.as_str()).count(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_follows_a_bounded_number_of_relations_for_foreign_jobs() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let ids = foreign_jobs(&redis, &store, 6, 20).await;
    for id in &ids {
        let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
    }
    let (osis, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: 128 }];
    let mut more = true;
    while more {
        let before = calls(&redis, "hmget").await;
        let fetched = store.queues().fetch(&Fetch { script_type: &osis, ends: &[], actors: &actors, queues: &queues }).await.unwrap();
        let read = calls(&redis, "hmget").await - before;
        assert!(read < 1_600, "{read} jobs were read in one fetch");
        assert!(fetched.taken.is_empty());
        more = fetched.more;
    }
    assert_eq!(redis.run::<i64>(&["LLEN", "hero:q:work:type:osis"]).await, 0);
    indexed_once(&redis, &store, &ids).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_much_for_one_look_at_foreign_jobs_is_discovered_by_a_later_one() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let ids = foreign_jobs(&redis, &store, 4, 1).await;
    let (mut discovered, mut looks) = (0, 0);
    while discovered < ids.len() {
        let before = calls(&redis, "hmget").await;
        let new = store.maintenance().discover(&ids).await.unwrap();
        let read = calls(&redis, "hmget").await - before;
        assert!(new > 0 && read < 1_600, "{new} discovered, {read} jobs were read");
        (discovered, looks) = (discovered + new, looks + 1);
    }
    assert!(looks > 1, "all were followed at once");
    indexed_once(&redis, &store, &ids).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_idempotency_key_is_refused() {
    let house = House::empty().await;
    let refused = house.dispatcher.jobs().create(JobSpec { idempotency_key: Some(String::new()), ..spec("1") }).await.unwrap_err();
    assert!(refused.to_string().contains("idempotency_key"), "{refused}");
    house.close().await;
}
