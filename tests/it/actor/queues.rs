//! Pools with limits, with pauses, and with callers that take turns.

use std::collections::{HashMap, HashSet};

use hero::actor::{Pool, PoolSettings};
use hero::model::{JobId, JobSpec, Priority, Queue, Status, Target};
use hero::process::Spawner;

use crate::support::{CONTEXT, House, PATIENCE, dispatcher, pool_settings, spec, until};

/// Every change so far: job and status.
async fn changes(house: &House) -> Vec<(String, String)> {
    let entries: Vec<(String, HashMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    entries.into_iter().map(|(_, mut entry)| (entry.remove("job").unwrap(), entry.remove("status").unwrap())).collect()
}

async fn all_finished(house: &House, jobs: &[JobId]) {
    for id in jobs {
        house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await.unwrap();
    }
}

fn queue() -> Queue {
    Queue { script_type: "osis".parse().unwrap(), target: Target::Type, priority: Priority::Normal }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_pools_of_two_servers_never_run_more_than_may() {
    let mut house = House::empty().await;
    let other = house.redis.store().await;
    house.store.limits().set_running(3);
    other.limits().set_running(3);
    let settings = pool_settings(house.redis.directory(), 3);
    house.hire(settings.clone()).await;
    let second = Pool::start(
        other.clone(),
        dispatcher([other], house.redis.directory()),
        Spawner::start().unwrap(),
        settings,
        house.shutdown.clone(),
    )
    .await
    .unwrap();
    let mut jobs = Vec::new();
    for _ in 0..50 {
        jobs.push(house.start(spec("sleep(0.02); 1")).await);
    }
    all_finished(&house, &jobs).await;
    let (mut running, mut most): (HashSet<String>, usize) = (HashSet::new(), 0);
    for (job, status) in changes(&house).await {
        if status == "started" {
            running.insert(job)
        } else {
            running.remove(&job)
        };
        most = most.max(running.len());
    }
    assert_eq!((running.len(), most), (0, 3));
    house.close().await;
    tokio::time::timeout(PATIENCE, second.ended()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_queue_waits_and_a_resumed_one_is_served() {
    let house = House::open(1).await;
    house.dispatcher.queues().pause(CONTEXT, &queue()).await.unwrap();
    let id = house.start(spec("1")).await;
    let urgent = house.start(JobSpec { priority: Priority::Urgent, ..spec("2") }).await;
    let of_group = house.start(JobSpec { group: Some("default".parse().unwrap()), ..spec("3") }).await;
    house.is(&of_group, Status::Finished).await;
    for id in [&id, &urgent] {
        assert_eq!(house.dispatcher.jobs().status(CONTEXT, id).await.unwrap(), Status::Dispatched);
    }
    house.dispatcher.queues().resume(CONTEXT, &queue()).await.unwrap();
    all_finished(&house, &[id, urgent]).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_with_few_jobs_does_not_wait_behind_one_with_many() {
    let mut house = House::empty().await;
    let settings = PoolSettings { fair: true, ..pool_settings(house.redis.directory(), 2) };
    house.hire(settings).await;
    house.dispatcher.queues().pause(CONTEXT, &queue()).await.unwrap();
    let of = |caller: &str| JobSpec { caller_id: Some(caller.into()), ..spec("1") };
    let mut jobs = Vec::new();
    for _ in 0..200 {
        jobs.push(house.start(of("ann")).await);
    }
    for _ in 0..5 {
        jobs.push(house.start(of("bob")).await);
    }
    house.dispatcher.queues().resume(CONTEXT, &queue()).await.unwrap();
    all_finished(&house, &jobs).await;
    let changes = changes(&house).await;
    let started: Vec<&String> = changes.iter().filter(|(_, status)| status == "started").map(|(job, _)| job).collect();
    let soon = jobs[200..].iter().filter(|id| started[..12].contains(&&id.to_string())).count();
    assert_eq!(soon, 5, "of the twelve first");
    assert_eq!(changes.iter().filter(|(_, status)| status == "finished").count(), 205);
    until("nothing is left of the fetches", || async {
        let left: Vec<String> = house.redis.run(&["KEYS", "hero:q:fair:*"]).await;
        left.is_empty().then_some(())
    })
    .await;
    house.close().await;
}

/// The lists of queues that fetches came with so far; the slow log keeps the beginning of each.
async fn queues_of_fetches(house: &House) -> Vec<String> {
    let entries: Vec<(u64, u64, u64, Vec<String>, String, String)> = house.redis.run(&["SLOWLOG", "GET", "-1"]).await;
    let fetches =
        entries.into_iter().map(|(_, _, _, words, _, _)| words).filter(|words| words.get(1).is_some_and(|name| name.ends_with("_fetch")));
    fetches.filter_map(|words| words.into_iter().find(|word| word.starts_with("hero:q:work:"))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn fetches_look_into_the_queues_of_instances_only_where_something_may_lie_there() {
    let house = House::open(1).await;
    let instance_queue = "hero:q:work:type:osis:group:default:inst:1";
    let _: () = house.redis.run(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]).await;
    until("a fetch that does not look there", || async {
        house.run("1").await.unwrap();
        queues_of_fetches(&house).await.iter().any(|queues| !queues.contains(":inst:")).then_some(())
    })
    .await;
    // Jobs added by this server, another server or a foreign program are still found.
    let own = house.start(JobSpec { instance: Some(1), ..spec("1") }).await;
    house.is(&own, Status::Finished).await;
    let other = house.redis.store().await;
    let id = JobId::random();
    let spec = JobSpec { instance: Some(1), ..spec("2") };
    other
        .jobs()
        .create(hero::store::NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None })
        .await
        .unwrap();
    house.is(&id, Status::Finished).await;
    let foreign = JobId::random();
    let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{foreign}"), "script", "3", "script_type", "osis"]).await;
    let _: i64 = house.redis.run(&["LPUSH", instance_queue, foreign.as_str()]).await;
    house.is(&foreign, Status::Finished).await;
    assert!(queues_of_fetches(&house).await.iter().any(|queues| queues.contains(instance_queue)));
    house.close().await;
}

/// Whether a job has not ended after two seconds.
async fn stays(house: &House, id: &JobId) -> bool {
    house.dispatcher.jobs().wait(CONTEXT, id, std::time::Duration::from_secs(2)).await.is_err()
}

/// A job that no actor fetches any more. A fetch that is in flight when a pool is told to stop may still take a job.
async fn not_taken(house: &House) -> JobId {
    let started = std::time::Instant::now();
    loop {
        let id = house.start(spec("2")).await;
        if stays(house, &id).await {
            return id;
        }
        assert!(started.elapsed() < PATIENCE, "jobs are still taken");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_that_pauses_takes_no_jobs_and_one_that_leaves_ends_when_its_jobs_have() {
    let mut house = House::empty().await;
    let settings = PoolSettings { grace: std::time::Duration::ZERO, ..pool_settings(house.redis.directory(), 2) };
    house.hire(settings).await;
    let pool = house.pool.take().unwrap();
    let long = house.start(spec("print(`begun`); while osis::get(`gates`, `one`) == () { sleep(0.05) } 1")).await;
    // One that has started and waits for its engine is requeued when its pool pauses.
    let begun = async || (!house.dispatcher.logs().page(CONTEXT, &long, None, 1).await.unwrap().lines.is_empty()).then_some(());
    until("the script has begun", begun).await;
    pool.pause(true);
    let waiting = not_taken(&house).await;
    pool.pause(false);
    all_finished(&house, &[waiting]).await;
    pool.leave();
    let late = not_taken(&house).await;
    // Nothing brings it back, and running jobs are not requeued.
    pool.pause(false);
    assert!(stays(&house, &late).await);
    assert_eq!(house.dispatcher.jobs().status(CONTEXT, &long).await.unwrap(), Status::Started);
    let gate = hero::model::Json::from(serde_json::json!({ "id": "one" }));
    house.dispatcher.contexts().objects(CONTEXT).await.unwrap().set(&"gates".parse().unwrap(), &gate).await.unwrap();
    tokio::time::timeout(PATIENCE, pool.ended()).await.unwrap();
    assert_eq!(house.dispatcher.jobs().status(CONTEXT, &long).await.unwrap(), Status::Finished);
    let begun = changes(&house).await.into_iter().filter(|(job, status)| job == long.as_str() && status == "started").count();
    assert_eq!((begun, house.dispatcher.jobs().status(CONTEXT, &late).await.unwrap()), (1, Status::Dispatched));
    house.close().await;
}
