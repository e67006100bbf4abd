//! Jobs that run before they are stored.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt as _;
use hero::dispatch::{Error, Followed};
use hero::model::{ErrorKind, JobFilter, JobId, JobSpec, Priority, Queue, Seconds, Status, Target};

use hero::store::Periods;

use crate::support::{CONTEXT, House, PATIENCE, Redis, pool_settings, spec, until};

/// Runs a script until one of its jobs is stored once, as one that ran before. On a busy machine a job may take too long for that.
async fn ran_before(house: &House, script: &str) -> JobId {
    until("a job that is stored once", || async {
        let id = house.run(script).await.unwrap().job_id;
        let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XREVRANGE", "hero:events", "+", "-"]).await;
        let of_job: Vec<_> = events.into_iter().filter(|(_, event)| event["job"] == id.as_str()).collect();
        of_job[0].1.contains_key("started").then(|| assert_eq!(of_job.len(), 1)).map(|()| id)
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_script_is_stored_once_and_its_followers_see_each_change() {
    let house = House::open(1).await;
    let following = house.dispatcher.events().follow(CONTEXT, JobFilter::default(), None).await.unwrap();
    tokio::pin!(following);
    let id = ran_before(&house, "40 + 2").await;
    let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
    assert_eq!((job.status, job.attempt, &job.error), (Status::Finished, 1, &None));
    assert!(job.created_at <= job.started_at && job.started_at <= job.finished_at && job.usage.is_some(), "{job:?}");
    let result = house.dispatcher.jobs().result(CONTEXT, &id).await.unwrap();
    assert_eq!((result.output.as_str(), result.attempt), ("42", 1));
    // A walk through all keys knows it.
    assert_eq!(house.store.maintenance().discover(std::slice::from_ref(&id)).await.unwrap(), 0);
    let seconds: i64 = house.redis.run(&["TTL", &format!("hero:job:{id}")]).await;
    assert!(seconds > 0, "it is kept for {seconds} s");
    let mut seen = Vec::new();
    while seen.last() != Some(&(Status::Finished, 1)) {
        let Followed::Item(event) = tokio::time::timeout(PATIENCE, following.next()).await.unwrap().unwrap().unwrap() else { continue };
        if event.job_id == id {
            seen.push((event.status, event.attempt));
        }
    }
    assert_eq!(seen, [(Status::Dispatched, 0), (Status::Started, 1), (Status::Finished, 1)]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_for_a_paused_queue_has_no_effect_until_the_queue_is_resumed() {
    let house = House::open(1).await;
    let queue = Queue { script_type: "osis".parse().unwrap(), target: Target::Type, priority: Priority::Normal };
    ran_before(&house, "1").await;
    house.dispatcher.queues().pause(CONTEXT, &queue).await.unwrap();
    let before = house.redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await.len();
    let script = r#"print("here"); job::spawn(#{ script: "1" })"#;
    let mut waits = Box::pin(house.run(script));
    let look = async {
        until("the job in its queue", || async { (house.redis.run::<i64>(&["LLEN", "hero:q:work:type:osis"]).await == 1).then_some(()) })
            .await;
        // If its script ran, the engine is free again after this one.
        until("a free engine", || async {
            (house.dispatcher.jobs().run(JobSpec { group: Some("default".parse().unwrap()), ..spec("2") }).await).ok()
        })
        .await
    };
    let other = tokio::select! {
        ended = &mut waits => panic!("it ran: {ended:?}"),
        other = look => other,
    };
    house.is(&other, Status::Finished).await;
    let keys: Vec<String> = house.redis.run(&["KEYS", "hero:job:*"]).await;
    assert_eq!(keys.len(), before + 2, "it has spawned a job: {keys:?}");
    assert_eq!(house.redis.run::<Vec<String>>(&["KEYS", "hero:log:*"]).await, Vec::<String>::new());
    house.dispatcher.queues().resume(CONTEXT, &queue).await.unwrap();
    let done = waits.await.unwrap();
    let lines: i64 = house.redis.run(&["XLEN", &format!("hero:log:{}", done.job_id)]).await;
    assert_eq!(lines, 1, "it has logged once");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_first_run_was_in_vain_keeps_its_lease_while_it_runs() {
    // Long enough that a busy machine is no reason to lose it.
    let lease = Duration::from_secs(2);
    let mut house = House::lasting(Redis::start().await, Periods { lease, ..Periods::default() }).await;
    house.hire(pool_settings(house.redis.directory(), 2)).await;
    let queue = Queue { script_type: "osis".parse().unwrap(), target: Target::Type, priority: Priority::Normal };
    ran_before(&house, "1").await;
    house.dispatcher.queues().pause(CONTEXT, &queue).await.unwrap();
    let resume = async {
        until("the job in its queue", || async { (house.redis.run::<i64>(&["LLEN", "hero:q:work:type:osis"]).await == 1).then_some(()) })
            .await;
        house.dispatcher.queues().resume(CONTEXT, &queue).await.unwrap();
    };
    let (done, ()) = tokio::join!(house.run("sleep(5); 42"), resume);
    let job = house.dispatcher.jobs().job(CONTEXT, &done.unwrap().job_id).await.unwrap();
    assert_eq!((job.status, job.attempt, job.crashes), (Status::Finished, 1, 0));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_script_is_stored_while_it_runs_and_stopped_as_any_other() {
    let house = House::open(1).await;
    ran_before(&house, "1").await;
    let mut waits = Box::pin(house.run("loop {}"));
    let running = until_running(&house);
    let id = tokio::select! {
        ended = &mut waits => panic!("it ended: {ended:?}"),
        id = running => id,
    };
    assert_eq!(house.dispatcher.jobs().stop(CONTEXT, &id).await.unwrap(), Status::Error);
    let Err(Error::Failed { error, attempt, .. }) = waits.await else { panic!("it did not fail") };
    assert_eq!((error.kind, attempt), (ErrorKind::Stopped, 1));
    house.close().await;
}

/// The job that is started, as Redis knows it.
async fn until_running(house: &House) -> JobId {
    until("a started job", || async {
        let leases: Vec<String> = house.redis.run(&["ZRANGE", "hero:q:leases", "0", "-1"]).await;
        leases.first().map(|id| id.parse().unwrap())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_fails_at_once_is_recorded_as_any_other_and_tried_again() {
    let house = House::open(1).await;
    ran_before(&house, "1").await;
    let Err(Error::Failed { job_id, error, attempt }) = house.run("let x = 1;\nthrow \"no\"").await else { panic!("it did not fail") };
    assert_eq!((error.kind, error.line, attempt), (ErrorKind::Script, Some(2), 1));
    let job = house.dispatcher.jobs().job(CONTEXT, &job_id).await.unwrap();
    assert_eq!((job.status, job.attempt), (Status::Error, 1));
    let twice = JobSpec { retries: 1, retry_backoff: Seconds::new(0.01), ..spec("if ATTEMPT == 1 { throw \"no\" } ATTEMPT") };
    assert_eq!(house.dispatcher.jobs().run_and_wait(twice, PATIENCE).await.unwrap().output, "2");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn while_redis_is_away_a_script_is_refused_and_leaves_nothing() {
    let mut house = House::open(1).await;
    let id = ran_before(&house, "1").await;
    house.redis.kill();
    let refused = house.run("2").await;
    assert!(matches!(refused, Err(Error::Store { .. })), "{refused:?}");
    house.redis.restart().await;
    // The pool is well, and takes no end of that run to Redis.
    let last = until("a job that runs", || async { house.run("3").await.ok() }).await;
    assert_eq!(last.output, "3");
    let jobs: Vec<BTreeMap<String, String>> = {
        let mut jobs = Vec::new();
        for key in house.redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await {
            jobs.push(house.redis.run(&["HGETALL", &key]).await);
        }
        jobs
    };
    assert!(jobs.iter().all(|job| job.get("script").is_none_or(|script| script != "2")), "{id}: {jobs:?}");
    house.close().await;
}
