//! The queues that the dispatcher uses during a migration of actors: its own, the legacy ones, or both.

use std::time::Duration;

use hero::model::{JobId, JobSpec, Status};
use hero::store::{ActorRoom, Fetch, Layouts, Push};

use super::{becomes, blpop, empties, hget, hset, llen};
use crate::support::{CONTEXT, House, PATIENCE, Redis, pool_settings, spec};

const OURS: &str = "hero:q:work:type:osis";
const SHADOW: &str = "hero:job:actor_queue:osis";

async fn hire(house: &mut House, layouts: Layouts) {
    let settings = hero::actor::PoolSettings { layouts, ..pool_settings(house.redis.directory(), 1) };
    house.hire(settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_both_queues_is_taken_out_of_both_by_whoever_starts_it() {
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    let job = house.start(spec("40 + 2")).await;
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await), (1, 1));
    hire(&mut house, Layouts::none()).await;
    house.is(&job, Status::Finished).await;
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await), (0, 0));
    assert_eq!(house.run("1").await.unwrap().output, "1");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_legacy_worker_is_reached_by_its_name() {
    let house = House::pushing(Redis::start().await, Push::Both).await;
    let job = house.start(JobSpec { worker_id: Some("w1".parse().unwrap()), ..spec("1") }).await;
    assert_eq!(blpop(&house.redis, "hero:work_queue:w1").await, job.as_str());
    // A target within our layout has no name in the other one.
    house.start(JobSpec { group: Some("io".parse().unwrap()), ..spec("1") }).await;
    assert_eq!((llen(&house.redis, SHADOW).await, llen(&house.redis, &format!("{OURS}:group:io")).await), (0, 1));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_a_foreign_actor_has_popped_is_left_to_it() {
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    let job = house.start(spec("\"ours\"")).await;
    assert_eq!(blpop(&house.redis, SHADOW).await, job.as_str());
    hire(&mut house, Layouts::none()).await;
    empties(&house.redis, OURS).await;
    // Another job shows that the pool went on.
    assert_eq!(house.run("1").await.unwrap().output, "1");
    assert_eq!(house.dispatcher.jobs().status(CONTEXT, &job).await.unwrap(), Status::Dispatched);
    let key = format!("hero:job:{job}");
    hset(&house.redis, &key, &[("status", "started")]).await;
    hset(&house.redis, &key, &[("status", "finished"), ("output", "theirs")]).await;
    let result = house.dispatcher.jobs().wait(CONTEXT, &job, PATIENCE).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt), ("theirs", 1));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_a_foreign_actor_has_just_started_is_not_started_again() {
    let house = House::pushing(Redis::start().await, Push::Both).await;
    let job = house.start(spec("1")).await;
    // All that a worker of the legacy layout does, and our copy of the id is still there.
    let _: i64 = house.redis.run(&["LREM", SHADOW, "1", job.as_str()]).await;
    hset(&house.redis, &format!("hero:job:{job}"), &[("status", "started")]).await;
    let (osis, actors) = ("osis".parse().unwrap(), [ActorRoom { actor: "osis:default:1".into(), room: 1 }]);
    let fetch = Fetch { script_type: &osis, ends: &[], actors: &actors, queues: &[(OURS.to_owned(), 0)] };
    assert_eq!(house.store.queues().fetch(&fetch).await.unwrap().taken, []);
    hset(&house.redis, &format!("hero:job:{job}"), &[("status", "finished"), ("output", "theirs")]).await;
    assert_eq!(house.dispatcher.jobs().wait(CONTEXT, &job, PATIENCE).await.unwrap().output, "theirs");
    house.close().await;
}

/// Adds this number of foreign ids to the shadow queue, from this side.
async fn fill_shadow(redis: &Redis, side: &str, many: usize) {
    let others: Vec<String> = (0..many).map(|_| super::id()).collect();
    let words: Vec<&str> = [side, SHADOW].into_iter().chain(others.iter().map(String::as_str)).collect();
    let _: i64 = redis.run(&words).await;
}

/// Whether a job is in the shadow queue.
async fn is_in_shadow(redis: &Redis, job: &JobId) -> bool {
    redis.run::<Option<i64>>(&["LPOS", SHADOW, job.as_str()]).await.is_some()
}

/// The jobs that a pool with much room would start.
async fn taken(house: &House) -> usize {
    let (osis, actors) = ("osis".parse().unwrap(), [ActorRoom { actor: "osis:default:1".into(), room: 64 }]);
    let fetch = Fetch { script_type: &osis, ends: &[], actors: &actors, queues: &[(OURS.to_owned(), 0)] };
    house.store.queues().fetch(&fetch).await.unwrap().taken.len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_shadow_is_not_searched_for_what_foreign_actors_took_and_what_nobody_starts_runs() {
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    let mut jobs = Vec::new();
    for _ in 0..20 {
        jobs.push(house.start(spec("\"ours\"")).await);
    }
    let _: i64 = house.redis.run(&["DEL", SHADOW]).await;
    fill_shadow(&house.redis, "LPUSH", 3_000).await;
    let _: () = house.redis.run(&["CONFIG", "RESETSTAT"]).await;
    assert_eq!((taken(&house).await, house.redis.calls("lrem").await), (0, 0));
    let theirs = format!("hero:job:{}", jobs[0]);
    hset(&house.redis, &theirs, &[("status", "started")]).await;
    hset(&house.redis, &theirs, &[("status", "finished"), ("output", "theirs")]).await;
    assert_eq!(house.dispatcher.jobs().wait(CONTEXT, &jobs[0], PATIENCE).await.unwrap().output, "theirs");
    // Once the queue is short it is known that the others are not there. Nobody has started them for long.
    hire(&mut house, Layouts::none()).await;
    for job in &jobs[1..] {
        hset(&house.redis, &format!("hero:job:{job}"), &[("missing_at", "1")]).await;
    }
    let _: i64 = house.redis.run(&["DEL", SHADOW]).await;
    for job in &jobs[1..] {
        let result = house.dispatcher.jobs().wait(CONTEXT, job, PATIENCE).await.unwrap();
        assert_eq!((result.output.as_str(), result.attempt), ("ours", 1));
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_far_from_both_ends_of_a_long_shadow_is_left_there_until_it_comes_near_one() {
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    let (ours, theirs) = (house.start(spec("\"ours\"")).await, house.start(spec("\"ours\"")).await);
    fill_shadow(&house.redis, "LPUSH", 1_500).await;
    fill_shadow(&house.redis, "RPUSH", 1_500).await;
    assert_eq!((taken(&house).await, llen(&house.redis, OURS).await), (0, 0));
    assert!(is_in_shadow(&house.redis, &ours).await && is_in_shadow(&house.redis, &theirs).await);
    // Meanwhile a foreign actor may take it.
    assert_eq!(house.redis.run::<i64>(&["LREM", SHADOW, "1", theirs.as_str()]).await, 1);
    hset(&house.redis, &format!("hero:job:{theirs}"), &[("status", "started")]).await;
    hset(&house.redis, &format!("hero:job:{theirs}"), &[("status", "finished"), ("output", "theirs")]).await;
    hire(&mut house, Layouts::none()).await;
    let result = house.dispatcher.jobs().wait(CONTEXT, &theirs, PATIENCE).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt), ("theirs", 1));
    assert_eq!(house.dispatcher.jobs().status(CONTEXT, &ours).await.unwrap(), Status::Dispatched);
    let _: String = house.redis.run(&["LTRIM", SHADOW, "0", "-1001"]).await;
    let result = house.dispatcher.jobs().wait(CONTEXT, &ours, PATIENCE).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt), ("ours", 1));
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await), (0, 2_000));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_foreign_actor_took_leaves_our_queue() {
    let house = House::pushing(Redis::start().await, Push::Both).await;
    let (slow, quick) = (house.start(spec("1")).await, house.start(spec("2")).await);
    for job in [&slow, &quick] {
        let _: i64 = house.redis.run(&["LREM", SHADOW, "1", job.as_str()]).await;
    }
    hset(&house.redis, &format!("hero:job:{slow}"), &[("status", "started")]).await;
    hset(&house.redis, &format!("hero:job:{quick}"), &[("status", "finished"), ("output", "2")]).await;
    empties(&house.redis, OURS).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn beside_an_old_actor_each_job_runs_once() {
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    hire(&mut house, Layouts::none()).await;
    // Two slow steps between pop and end, as in a worker of the legacy layout.
    let old = async {
        let mut ran = Vec::new();
        loop {
            let popped: Option<(String, String)> = house.redis.run(&["BLPOP", SHADOW, "2"]).await;
            let Some((_, id)) = popped else { return ran };
            let key = format!("hero:job:{id}");
            tokio::time::sleep(Duration::from_millis(ran.len() as u64 % 40)).await;
            hset(&house.redis, &key, &[("status", "started")]).await;
            tokio::time::sleep(Duration::from_millis(ran.len() as u64 % 3)).await;
            hset(&house.redis, &key, &[("status", "finished"), ("output", "old")]).await;
            ran.push(id);
        }
    };
    let new = async {
        let mut jobs = Vec::new();
        for _ in 0..500 {
            jobs.push(house.start(spec("\"new\"")).await);
        }
        for job in &jobs {
            house.dispatcher.jobs().wait(CONTEXT, job, PATIENCE).await.unwrap();
        }
        jobs
    };
    let (ran, jobs) = tokio::join!(old, new);
    for job in &jobs {
        let result = house.dispatcher.jobs().result(CONTEXT, job).await.unwrap();
        let theirs = ran.iter().any(|id| id == job.as_str());
        assert_eq!((result.output.as_str(), result.attempt), (if theirs { "old" } else { "new" }, 1), "{job}");
    }
    let unique: std::collections::BTreeSet<&String> = ran.iter().collect();
    assert_eq!(unique.len(), ran.len());
    assert!(!ran.is_empty() && ran.len() < jobs.len(), "{} of {}", ran.len(), jobs.len());
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await), (0, 0));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_job_leaves_both_queues() {
    let house = House::pushing(Redis::start().await, Push::Both).await;
    let job = house.start(spec("1")).await;
    house.dispatcher.jobs().stop(CONTEXT, &job).await.unwrap();
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await), (0, 0));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_reads_both_queues_runs_each_job_once() {
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    let mut jobs = Vec::new();
    for _ in 0..100 {
        jobs.push(house.start(spec("1")).await);
    }
    hire(&mut house, Layouts::all(&"osis".parse().unwrap())).await;
    for job in &jobs {
        house.is(job, Status::Finished).await;
        assert_eq!(house.dispatcher.jobs().job(CONTEXT, job).await.unwrap().attempt, 1);
    }
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await), (0, 0));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn our_own_reading_of_the_shadow_leaves_the_job_in_our_queue() {
    let house = House::pushing(Redis::start().await, Push::Both).await;
    let job = house.start(spec("1")).await;
    let osis = "osis".parse().unwrap();
    let queues = house.store.queues().of_layouts(&osis, &Layouts::all(&osis));
    assert!(house.store.queues().import(&osis, &queues, 10).await.unwrap());
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await), (1, 0));
    assert_eq!(hget(&house.redis, &format!("hero:job:{job}"), "twin").await, None);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_for_the_old_fleet_lies_only_in_its_queue() {
    let mut house = House::pushing(Redis::start().await, Push::Legacy).await;
    // Its legacy worker is the one that the hash names.
    let theirs = house.start(spec("1")).await;
    let key = format!("hero:job:{theirs}");
    let worker = hget(&house.redis, &key, "worker_id").await.unwrap();
    assert_eq!((llen(&house.redis, OURS).await, llen(&house.redis, SHADOW).await, &*worker), (0, 0, "osis"));
    assert_eq!(blpop(&house.redis, &format!("hero:work_queue:{worker}")).await, theirs.as_str());
    let named = house.start(JobSpec { worker_id: Some("w1".parse().unwrap()), ..spec("1") }).await;
    assert_eq!(blpop(&house.redis, "hero:work_queue:w1").await, named.as_str());
    hset(&house.redis, &key, &[("status", "started")]).await;
    becomes(&house.redis, &key, "attempt", "1").await;
    hset(&house.redis, &key, &[("status", "finished"), ("output", "theirs")]).await;
    assert_eq!(house.dispatcher.jobs().wait(CONTEXT, &theirs, PATIENCE).await.unwrap().output, "theirs");
    // A pool of ours is part of that fleet, and jobs wait for their turn there.
    let ours = house.start(spec("40 + 2")).await;
    hire(&mut house, Layouts::all(&"osis".parse().unwrap())).await;
    house.is(&ours, Status::Finished).await;
    assert_eq!(house.run("\"waited\"").await.unwrap().output, "waited");
    house.close().await;
}
