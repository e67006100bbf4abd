//! Migrations from legacy actors to ours, each with a name.

use std::collections::{BTreeMap, BTreeSet};

use hero::model::{JobId, JobSpec, Status};
use hero::store::{Layouts, Push};

use super::{LegacyWorker, Manner, OSIS, hget, hset, lpush};
use crate::support::{CONTEXT, House, PATIENCE, Redis, pool_settings, spec, until};

const LEGACY: &str = "hero:job:actor_queue:osis";

/// An actor that another program brings along: it registers, and takes from its instance, its group and its type.
async fn hire(house: &House, script_type: &str, group: &str, instance: u32) -> LegacyWorker {
    let of_type = format!("hero:q:work:type:{script_type}");
    let of_group = format!("{of_type}:group:{group}");
    let of_instance = format!("{of_group}:inst:{instance}");
    let presence = Some((format!("hero:meta:actor:inst:{script_type}:{group}:{instance}"), "{\"pid\":1}".to_owned()));
    LegacyWorker::hire(&house.redis, Manner { presence, ..Manner::of(&[&of_instance, &of_group, &of_type]) }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_osis_pool_with_two_instances() {
    let house = House::empty().await;
    let (one, two) = (hire(&house, "osis", "default", 1).await, hire(&house, "osis", "default", 2).await);
    let mut jobs = Vec::new();
    for number in 0..100 {
        jobs.push(house.start(spec(&format!("echo {number}"))).await);
    }
    for (number, id) in jobs.iter().enumerate() {
        assert_eq!(house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await.unwrap().output, number.to_string());
    }
    // Both share the load.
    let (of_one, of_two) = (one.ran().len(), two.ran().len());
    assert!(of_one > 0 && of_two > 0 && of_one + of_two == 100, "{of_one} + {of_two}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sal_pool_io_with_instance_3_and_targeted_dispatch() {
    let house = House::empty().await;
    let (two, three) = (hire(&house, "sal", "io", 2).await, hire(&house, "sal", "io", 3).await);
    let targeted =
        JobSpec { script_type: "sal".parse().unwrap(), group: Some("io".parse().unwrap()), instance: Some(3), ..spec("echo pinned") };
    for _ in 0..20 {
        assert_eq!(house.dispatcher.jobs().run_and_wait(targeted.clone(), PATIENCE).await.unwrap().output, "pinned");
    }
    assert_eq!((two.ran().len(), three.ran().len()), (0, 20));
    // A job for the group goes to either, a job for another instance waits for that one.
    let grouped = JobSpec { instance: None, ..targeted.clone() };
    assert_eq!(house.dispatcher.jobs().run_and_wait(grouped, PATIENCE).await.unwrap().output, "pinned");
    let other = house.start(JobSpec { instance: Some(4), ..targeted }).await;
    let queue = "hero:q:work:type:sal:group:io:inst:4";
    assert_eq!(house.redis.run::<Vec<String>>(&["LRANGE", queue, "0", "-1"]).await, [other.to_string()]);
    let four = hire(&house, "sal", "io", 4).await;
    house.is(&other, Status::Finished).await;
    assert_eq!(four.ran(), [other.to_string()]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn canonical_queues_alone_serve_ours_and_foreign_actors_side_by_side() {
    let house = House::open(1).await;
    let foreign = hire(&house, "osis", "default", 9).await;
    let mut jobs = Vec::new();
    for number in 0..300 {
        // Both understand this.
        jobs.push(house.start(spec(&format!("\"echo {number}\""))).await);
    }
    for id in &jobs {
        house.is(id, Status::Finished).await;
        assert_eq!(house.dispatcher.jobs().job(CONTEXT, id).await.unwrap().attempt, 1);
    }
    let ran = foreign.ran();
    until("no watch", || async { (house.redis.run::<i64>(&["ZCARD", "hero:q:watched"]).await == 0).then_some(()) }).await;
    let stats: u64 = house.redis.run(&["HGET", "hero:meta:queue:stats:osis", "finished"]).await;
    assert!(stats == 300 && ran.len() < 300, "{stats} {}", ran.len());
    house.close().await;
}

/// One actor of ours, which takes from these queues of other layouts, too.
async fn hire_ours(house: &mut House, layouts: Layouts) {
    let settings = hero::actor::PoolSettings { layouts, ..pool_settings(house.redis.directory(), 1) };
    house.hire(settings).await;
}

async fn all_finish(house: &House, jobs: &[JobId]) {
    for id in jobs {
        house.is(id, Status::Finished).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn mixed_old_and_new_actors_in_the_migration_window() {
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    let start = async |house: &House| {
        let mut jobs = Vec::new();
        for number in 0..50 {
            jobs.push(house.start(spec(&number.to_string())).await);
        }
        jobs
    };
    // Old actors alone, both, new ones alone: no job is stuck.
    let old = LegacyWorker::hire(&house.redis, Manner::of(&[LEGACY])).await;
    all_finish(&house, &start(&house).await).await;
    assert_eq!(old.ran().len(), 50);
    hire_ours(&mut house, Layouts::none()).await;
    all_finish(&house, &start(&house).await).await;
    drop(old);
    all_finish(&house, &start(&house).await).await;
    until("empty queues", || async {
        let left = house.redis.run::<i64>(&["EXISTS", OSIS, LEGACY]).await + house.redis.run::<i64>(&["ZCARD", "hero:q:watched"]).await;
        (left == 0).then_some(())
    })
    .await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn legacy_queues_are_consumed_last() {
    let mut house = House::empty().await;
    let (redis, mut order) = (&house.redis, Vec::new());
    for queue in [
        LEGACY,
        "hero:work_queue:osis",
        "hero:job:osis",
        OSIS,
        "hero:q:work:type:osis:group:default",
        "hero:q:work:type:osis:group:default:inst:1",
    ] {
        let id = JobId::random();
        hset(redis, &id, "1", &[("script_type", "osis")]).await;
        lpush(redis, queue, &id).await;
        order.push(id);
    }
    hire_ours(&mut house, Layouts::all(&"osis".parse().unwrap())).await;
    all_finish(&house, &order).await;
    let events: Vec<(String, BTreeMap<String, String>)> = house.redis.run(&["XRANGE", "hero:events", "-", "+"]).await;
    let started: Vec<String> =
        events.into_iter().filter(|(_, event)| event["status"] == "started").map(|(_, event)| event["job"].clone()).collect();
    let canonical: Vec<&str> = order[3..].iter().rev().map(JobId::as_str).collect();
    assert_eq!(started[..3], canonical);
    house.close().await;
}

/// Makes one old and one new actor run 2,000 jobs that are pushed to both, each exactly once.
async fn push_both(hesitates: u64, layouts: Layouts) {
    const JOBS: usize = 2000;
    let mut house = House::pushing(Redis::start().await, Push::Both).await;
    let old = LegacyWorker::hire(&house.redis, Manner { hesitates, ..Manner::of(&[LEGACY]) }).await;
    // Each run of ours leaves a line.
    let begin = async |house: &House, number: usize| house.start(spec(&format!("print(\"ran\"); {number}"))).await;
    // The new one comes into a queue that is in use.
    let mut jobs = futures_util::future::join_all((0..JOBS / 2).map(|number| begin(&house, number))).await;
    hire_ours(&mut house, layouts).await;
    for chunk in 0..JOBS / 100 / 2 {
        jobs.extend(futures_util::future::join_all((0..100).map(|number| begin(&house, chunk * 100 + number))).await);
    }
    all_finish(&house, &jobs).await;
    let ran = old.ran();
    let theirs: BTreeSet<&str> = ran.iter().map(String::as_str).collect();
    assert_eq!(theirs.len(), ran.len(), "the old actor ran a job twice");
    let mut ours = 0;
    for id in &jobs {
        let (lines, by_them): (usize, bool) = (house.redis.run(&["XLEN", &format!("hero:log:{id}")]).await, theirs.contains(id.as_str()));
        assert_eq!(lines + usize::from(by_them), 1, "{id}: {lines} runs here, by the old actor: {by_them}");
        assert_eq!(hget(&house.redis, id, "attempt").await.as_deref(), Some("1"), "{id}");
        ours += lines;
    }
    assert!(ours > 0 && !theirs.is_empty() && ours + theirs.len() == JOBS, "{ours} + {}", theirs.len());
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_to_both_runs_each_of_2000_jobs_once_with_an_old_and_a_new_actor() {
    push_both(0, Layouts::none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_to_both_runs_each_job_once_also_if_the_old_actor_hesitates() {
    push_both(20, Layouts::none()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_to_both_runs_each_job_once_also_if_the_new_actor_takes_from_both() {
    push_both(5, Layouts::all(&"osis".parse().unwrap())).await;
}
