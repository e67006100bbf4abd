//! The legacy layout: `hero:work_queue:{worker_id}`, `hero:reply:{id}`, `hero:stop_queue:{worker_id}`.

use hero::store::Layouts;

use super::{becomes, blpop, empties, hget, hset, id, llen, lpush, ttl};
use crate::support::{House, Redis, pool_settings};

/// A script that ends only when it is stopped.
const ENDLESS: &str = "loop { }";

/// HSET of a job with the fields of the document; it knows no script types.
async fn create(redis: &Redis, id: &str, script: &str, more: &[(&str, &str)]) {
    let mut fields = vec![
        ("id", id),
        ("caller_id", "foreign"),
        ("worker_id", "osis"),
        ("context_id", "0"),
        ("script", script),
        ("timeout", "30"),
        ("retries", "0"),
        ("concurrent", "false"),
        ("created_at", "2026-01-01T00:00:00Z"),
        ("updated_at", "2026-01-01T00:00:00Z"),
        ("status", "dispatched"),
    ];
    fields.extend(more);
    hset(redis, &key(id), &fields).await;
}

fn key(id: &str) -> String {
    format!("hero:job:{id}")
}

fn reply(id: &str) -> String {
    format!("hero:reply:{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_finds_its_reply_by_each_name_a_queue_ever_had() {
    let house = House::open(1).await;
    let redis = &house.redis;
    for queue in ["hero:work_queue:osis", "hero:job:actor_queue:osis", "hero:job:osis"] {
        let id = id();
        create(redis, &id, "40 + 2", &[]).await;
        lpush(redis, queue, &id).await;
        assert_eq!(blpop(redis, &reply(&id)).await, "42", "{queue}");
        assert_eq!(hget(redis, &key(&id), "status").await.as_deref(), Some("finished"));
        assert_eq!(hget(redis, &key(&id), "output").await.as_deref(), Some("42"));
        assert!(ttl(redis, &key(&id)).await > 0);
        assert_eq!(llen(redis, queue).await, 0);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_nobody_takes_goes_by_itself() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, id());
    create(redis, &id, "throw \"broken\"", &[]).await;
    lpush(redis, "hero:work_queue:osis", &id).await;
    becomes(redis, &key(&id), "status", "error").await;
    assert!((1..=300).contains(&ttl(redis, &reply(&id)).await));
    let text = blpop(redis, &reply(&id)).await;
    assert!(text.contains("broken"), "{text}");
    assert_eq!(hget(redis, &key(&id), "error").await, Some(text));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_takes_its_own_request_and_leaves_those_of_other_workers() {
    let house = House::open(1).await;
    let (redis, running, queued, foreign) = (&house.redis, id(), id(), id());
    create(redis, &running, ENDLESS, &[("timeout", "600")]).await;
    lpush(redis, "hero:work_queue:osis", &running).await;
    becomes(redis, &key(&running), "status", "started").await;
    create(redis, &queued, "1", &[]).await;
    lpush(redis, "hero:work_queue:osis", &queued).await;
    for id in [&queued, &foreign, &running] {
        lpush(redis, "hero:stop_queue:osis", id).await;
    }
    assert_eq!(blpop(redis, &reply(&running)).await, "stopped_by_request");
    assert_eq!(blpop(redis, &reply(&queued)).await, "stopped");
    for id in [&running, &queued] {
        assert_eq!(hget(redis, &key(id), "status").await.as_deref(), Some("error"));
    }
    let left: Vec<String> = redis.run(&["LRANGE", "hero:stop_queue:osis", "0", "-1"]).await;
    assert_eq!(left, [foreign]);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_requeued_by_pushing_its_id() {
    let house = House::open(1).await;
    let (redis, stale, fresh, last) = (&house.redis, id(), id(), id());
    let now = house.store.clock().now().to_string();
    create(redis, &stale, "40 + 2", &[("status", "started"), ("started_at", "2026-01-01T00:00:00Z")]).await;
    create(redis, &fresh, "40 + 2", &[("status", "started"), ("started_at", &now)]).await;
    create(redis, &last, "\"last\"", &[]).await;
    for id in [&stale, &fresh, &last] {
        lpush(redis, "hero:work_queue:osis", id).await;
    }
    assert_eq!(blpop(redis, &reply(&stale)).await, "42");
    assert_eq!(blpop(redis, &reply(&last)).await, "last");
    // Whoever runs it may still do so.
    assert_eq!(hget(redis, &key(&fresh), "status").await.as_deref(), Some("started"));
    assert_eq!(llen(redis, &reply(&fresh)).await, 0);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_with_relations_is_held_back_here_too() {
    let house = House::open(1).await;
    let (redis, first, second) = (&house.redis, id(), id());
    let waits_for = format!("[\"{first}\"]");
    create(redis, &first, "1", &[]).await;
    create(redis, &second, "2", &[("prerequisites", &waits_for)]).await;
    lpush(redis, "hero:work_queue:osis", &second).await;
    becomes(redis, &key(&second), "status", "waiting_for_prerequisites").await;
    lpush(redis, "hero:work_queue:osis", &first).await;
    assert_eq!(blpop(redis, &reply(&first)).await, "1");
    assert_eq!(blpop(redis, &reply(&second)).await, "2");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_comes_before_its_hash_waits_for_it() {
    let house = House::open(1).await;
    let (redis, id) = (&house.redis, id());
    lpush(redis, "hero:work_queue:osis", &id).await;
    empties(redis, "hero:work_queue:osis").await;
    create(redis, &id, "40 + 2", &[]).await;
    assert_eq!(blpop(redis, &reply(&id)).await, "42");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_come_in_the_order_they_were_pushed_and_no_more_than_are_wanted() {
    let house = House::empty().await;
    let mut pushed = Vec::new();
    for _ in 0..200 {
        let id = id();
        create(&house.redis, &id, "1", &[]).await;
        lpush(&house.redis, "hero:work_queue:osis", &id).await;
        pushed.push(id);
    }
    let osis = "osis".parse().unwrap();
    let queues = house.store.queues().of_layouts(&osis, &Layouts::all(&osis));
    assert!(house.store.queues().import(&osis, &queues, 20).await.unwrap());
    let mut ours: Vec<String> = house.redis.run(&["LRANGE", "hero:q:work:type:osis", "0", "-1"]).await;
    ours.reverse();
    assert_eq!(ours, pushed[..20]);
    assert_eq!(llen(&house.redis, "hero:work_queue:osis").await, 180);
    // However many there is room for, one step stays short.
    assert!(house.store.queues().import(&osis, &queues, 1000).await.unwrap());
    assert_eq!(llen(&house.redis, "hero:work_queue:osis").await, 52);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_should_not_be_there_harms_nothing() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let (ended, good) = (id(), id());
    // A hash where a list should be, and elements that are no ids, or ids of no job that may run.
    hset(redis, "hero:job:osis", &[("a", "b")]).await;
    create(redis, &ended, "throw \"ran again\"", &[("status", "finished"), ("output", "before")]).await;
    let long = "f".repeat(1000);
    for element in ["", "x", "a b", "../../etc/passwd", "\u{1f600}", &long, &ended] {
        lpush(redis, "hero:work_queue:osis", element).await;
    }
    create(redis, &good, "40 + 2", &[]).await;
    lpush(redis, "hero:work_queue:osis", &good).await;
    assert_eq!(blpop(redis, &reply(&good)).await, "42");
    assert_eq!(llen(redis, "hero:work_queue:osis").await, 0);
    assert_eq!(hget(redis, &key(&ended), "output").await.as_deref(), Some("before"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pool_stands_for_the_workers_it_names_and_for_no_other() {
    let mut house = House::empty().await;
    let mut settings = pool_settings(house.redis.directory(), 1);
    settings.layouts = Layouts { worker_ids: vec!["w1".parse().unwrap(), "w2".parse().unwrap()], ..Layouts::none() };
    house.hire(settings).await;
    let (redis, unserved) = (&house.redis, id());
    create(redis, &unserved, "1", &[]).await;
    lpush(redis, "hero:work_queue:osis", &unserved).await;
    for worker in ["w1", "w2"] {
        let (running, id) = (id(), id());
        create(redis, &id, "40 + 2", &[("worker_id", worker)]).await;
        lpush(redis, &format!("hero:work_queue:{worker}"), &id).await;
        assert_eq!(blpop(redis, &reply(&id)).await, "42");
        create(redis, &running, ENDLESS, &[("timeout", "600")]).await;
        lpush(redis, &format!("hero:work_queue:{worker}"), &running).await;
        becomes(redis, &key(&running), "status", "started").await;
        lpush(redis, &format!("hero:stop_queue:{worker}"), &running).await;
        assert_eq!(blpop(redis, &reply(&running)).await, "stopped_by_request");
    }
    assert_eq!(llen(redis, "hero:work_queue:osis").await, 1);
    house.close().await;
}
