//! Jobs that foreign programs wrote without a notification.

use std::collections::BTreeSet;
use std::time::Duration;

use hero::dispatch::{Indexer, JobFilter};
use hero::model::{JobId, JobSpec, Status};
use hero::service::Service as _;
use hero::store::Periods;

use super::{LegacyWorker, Manner, OSIS, has, hget, hset, lpush};
use crate::support::{CONTEXT, House, PATIENCE, Redis, spec, until};

/// The ids in `list_jobs`, with how often each is there.
async fn listed(house: &House) -> Vec<JobId> {
    let jobs = house.dispatcher.jobs().list(CONTEXT, &JobFilter::default(), None, 1000).await.unwrap().jobs;
    jobs.into_iter().map(|job| job.job_id).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_jobs_are_listed_once_whatever_their_state() {
    let house = House::empty().await;
    let redis = &house.redis;
    let mut written = BTreeSet::new();
    for status in ["created", "dispatched", "started", "finished", "error", "scheduled", "waiting_for_prerequisites", "other"] {
        for since in ["2020-01-01T00:00:00Z", "", "soon", &hero::model::Timestamp::local().to_string()] {
            let id = JobId::random();
            hset(redis, &id, "echo", &[("status", status), ("updated_at", since)]).await;
            written.insert(id);
        }
    }
    let bare = JobId::random();
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{bare}"), "script", "1"]).await;
    written.insert(bare);
    // These are no jobs.
    let _: i64 = redis.run(&["LPUSH", &format!("hero:job:{}", JobId::random()), "x"]).await;
    let _: () = redis.run(&["SET", &format!("hero:job:{}", JobId::random()), "x"]).await;
    let _: i64 = redis.run(&["LPUSH", "hero:job:actor_queue:osis", "x"]).await;
    let _: i64 = redis.run(&["HSET", "hero:job:not-a-uuid", "id", "x"]).await;
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{}", JobId::random()), "color", "red"]).await;
    until("all jobs in the list", || async { (listed(&house).await.len() >= written.len()).then_some(()) }).await;
    let ours = house.start(spec("1")).await;
    written.insert(ours);
    // Another server finds nothing new.
    let mut indexer = Indexer::new(redis.store().await);
    for _ in 0..3 {
        indexer.tick().await.unwrap();
    }
    let listed = listed(&house).await;
    assert_eq!((listed.len(), listed.into_iter().collect::<BTreeSet<_>>()), (written.len(), written));
    house.close().await;
}

#[tokio::test]
async fn jobs_made_here_are_never_taken_for_those_of_foreign_programs() {
    let redis = Redis::start().await;
    let house = House::on(redis).await;
    let created = house.dispatcher.jobs().create(spec("1")).await.unwrap();
    let waiting = house.start(JobSpec { prerequisites: vec![created.clone()], ..spec("1") }).await;
    let later = house.store.clock().now().plus(Duration::from_secs(3600));
    let scheduled = house.start(JobSpec { run_at: Some(later), ..spec("1") }).await;
    let dispatched = house.start(spec("1")).await;
    let ids = [created.clone(), waiting, scheduled, dispatched.clone()];
    assert_eq!(house.store.maintenance().discover(&ids).await.unwrap(), 0);
    house.dispatcher.jobs().stop(CONTEXT, &created).await.unwrap();
    let foreign = LegacyWorker::hire(&house.redis, Manner::of(&[OSIS])).await;
    house.is(&dispatched, Status::Finished).await;
    assert_eq!((house.store.maintenance().discover(&ids).await.unwrap(), foreign.ran().len()), (0, 1));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_foreign_programs_ended_is_kept_as_long_as_other_jobs_and_no_longer() {
    let house = House::empty().await;
    let redis = &house.redis;
    for (since, status) in [("2020-01-01T00:00:00Z", "finished"), ("2020-01-01T00:00:00Z", "error"), ("", "finished"), ("", "error")] {
        let id = JobId::random();
        hset(redis, &id, "echo", &[("status", status), ("updated_at", since), ("retries", "0")]).await;
        let key = format!("hero:job:{id}");
        let kept = until("an end to it", || async { Some(redis.run::<i64>(&["TTL", &key]).await).filter(|ttl| *ttl > 0) }).await;
        let periods = Periods::default();
        let expected = if status == "finished" { periods.keep_finished } else { periods.keep_error };
        assert!(expected.as_secs() as i64 - kept < 60, "{status}: {kept}");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_job_that_failed_goes_back_to_its_own_worker_if_retries_are_left() {
    let house = House::open(1).await;
    let (redis, recent, old) = (&house.redis, JobId::random(), JobId::random());
    let failed = [("status", "error"), ("error", "no"), ("retries", "1"), ("retry_backoff", "0.01")];
    hset(redis, &recent, "echo better", &failed).await;
    // What failed days ago is history.
    hset(redis, &old, "echo better", &[&failed[..], &[("updated_at", "2026-01-01T00:00:00Z")]].concat()).await;
    until("its retry", || async { (redis.run::<i64>(&["LLEN", "hero:work_queue:w1"]).await == 1).then_some(()) }).await;
    let worker = LegacyWorker::hire(redis, Manner::of(&["hero:work_queue:w1"])).await;
    has(redis, &recent, "status", "finished").await;
    assert_eq!(worker.ran(), [recent.to_string()]);
    until("the old one in the list", || async { listed(&house).await.contains(&old).then_some(()) }).await;
    assert_eq!(hget(redis, &old, "status").await.as_deref(), Some("error"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_job_in_a_queue_that_is_not_ours_is_left_there() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, JobId::random());
    hset(redis, &id, "1", &[]).await;
    lpush(redis, "hero:work_queue:w1", &id).await;
    until("it in the list", || async { listed(&house).await.contains(&id).then_some(()) }).await;
    // One of ours that got lost would be pushed again by then.
    for _ in 0..3 {
        house.store.clock().advance(Duration::from_secs(40));
        house.store.queues().reap(128).await.unwrap();
    }
    house.run("2").await.unwrap();
    let queue: Vec<String> = redis.run(&["LRANGE", "hero:work_queue:w1", "0", "-1"]).await;
    assert_eq!((queue, hget(redis, &id, "status").await.as_deref()), (vec![id.to_string()], Some("dispatched")));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_foreign_job_waits_for_what_it_names() {
    let house = House::open(1).await;
    let redis = &house.redis;
    for status in ["waiting_for_prerequisites", "dispatched"] {
        let (id, first) = (JobId::random(), house.dispatcher.jobs().create(spec("1")).await.unwrap());
        let names = format!("[\"{first}\"]");
        hset(redis, &id, "2", &[("status", status), ("prerequisites", names.as_str()), ("script_type", "osis")]).await;
        until("it in the list", || async { listed(&house).await.contains(&id).then_some(()) }).await;
        assert_eq!(hget(redis, &id, "status").await.as_deref(), Some("waiting_for_prerequisites"));
        house.dispatcher.jobs().start(CONTEXT, &first).await.unwrap();
        assert_eq!(house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE).await.unwrap().output, "2");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_job_that_nobody_has_discovered_ends_with_it() {
    let house = House::empty().await;
    let (redis, id) = (&house.redis, JobId::random());
    hset(redis, &id, "once more", &[("retries", "1"), ("retry_backoff", "0.01")]).await;
    let _worker = LegacyWorker::hire(redis, Manner::of(&["hero:work_queue:w1"])).await;
    let waiting = house.dispatcher.jobs().wait(CONTEXT, &id, PATIENCE);
    let pushing = async {
        until("the wait", || async { hget(redis, &id, "origin").await }).await;
        lpush(redis, "hero:work_queue:w1", &id).await;
    };
    let (result, ()) = tokio::join!(waiting, pushing);
    // Its retry applied although it was never in a queue of ours.
    assert_eq!(result.unwrap().output, "more");
    assert_eq!(listed(&house).await, [id]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_run_is_a_final_error_however_often_it_says_that_it_may_be_tried() {
    let house = House::open(1).await;
    for (field, value, told) in [
        ("timeout", "nan", "timeout \"nan\" is not a number of seconds above 0"),
        ("timeout", "-1", "timeout \"-1\" is not a number of seconds above 0"),
        ("args", "{", "args can't be read as JSON"),
        ("env_vars", "[1]", "env_vars is not a JSON object of texts"),
    ] {
        for retries in ["inf", "5"] {
            let id = JobId::random();
            let more = [(field, value), ("retries", retries), ("retry_backoff", "0")];
            super::hset_at(&house.redis, id.as_str(), "2026-01-01T00:00:00Z", "1", &more).await;
            let _: i64 = house.redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
            house.is(&id, Status::Error).await;
            let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
            assert!(job.error.as_ref().is_some_and(|error| error.message.contains(told)), "{job:?}");
            assert_eq!((job.attempt, job.finished_at.is_some()), (1, true), "{field}={value}, retries={retries}");
        }
    }
    // What runs and fails is tried as often as its job is shown to be.
    for (retries, attempts) in [("inf", 1), ("nan", 1), ("1e9", 1), ("-1", 1), ("99999999999999999999", 1), ("2", 3)] {
        let id = JobId::random();
        super::hset_at(&house.redis, id.as_str(), "2026-01-01T00:00:00Z", "throw 1", &[("retries", retries), ("retry_backoff", "0")]).await;
        let _: i64 = house.redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
        house.is(&id, Status::Error).await;
        let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
        assert_eq!((job.attempt, job.retries), (attempts, attempts - 1), "{retries}");
    }
    house.close().await;
}
