use hero::conveyor::{Closer, Consumer};
use hero::service::Service as _;

use super::{Message, consumer, conveyor_keys, elements, events, exists, gone, hget, id, is, members, push, run, runs, settings, starts};
use crate::support::{CONTEXT, House, Redis, until};

fn children(of: &Message) -> String {
    format!("jobs:{}:children", of.uuid)
}

fn continuations(of: &Message) -> String {
    format!("jobs:{}:onComplete", of.uuid)
}

fn active(of: &Message) -> String {
    format!("jobs:{}:active", of.uuid)
}

/// Waits until a conveyor job is closed with everything that was its own.
async fn closed(redis: &Redis, job: &Message) {
    for key in [format!("jobs:{}", job.uuid), children(job), active(job), continuations(job)] {
        gone(redis, &key).await;
    }
}

/// The place of an event among all.
async fn place(redis: &Redis, job: &Message, status: &str) -> usize {
    let all = events(redis).await;
    all.iter().position(|(id, now)| *id == job.uuid && now == status).unwrap_or_else(|| panic!("{} was never {status}", job.uuid))
}

#[tokio::test(flavor = "multi_thread")]
async fn continuations_run_after_all_descendants_through_any_depth() {
    let house = consumer().await;
    let redis = &house.redis;
    let mut chain = vec![Message::new("0")];
    for depth in 1..=5 {
        let parent = chain[depth - 1].clone();
        let child = Message::new(&depth.to_string()).child_of(&parent.uuid);
        push(redis, &children(&parent), &child).await;
        // A second child, that the first does not wait for.
        push(redis, &children(&parent), &Message::new("1").child_of(&parent.uuid)).await;
        chain.push(child);
    }
    let mut last = Vec::new();
    for job in &chain {
        let continuation = Message { predecessor: job.uuid.clone(), ..Message::new("\"continuation\"") };
        push(redis, &continuations(job), &continuation).await;
        last.push(continuation);
    }
    push(redis, "queue:work", &chain[0]).await;
    is(redis, &last[0].uuid, "finished").await;
    for job in chain.iter().chain(&last) {
        is(redis, &job.uuid, "finished").await;
        closed(redis, job).await;
    }
    for (at, continuation) in last.iter().enumerate() {
        let begun = place(redis, continuation, "started").await;
        for descendant in &chain[at..] {
            assert!(place(redis, descendant, "finished").await < begun);
        }
    }
    for pair in chain.windows(2) {
        assert!(place(redis, &pair[0], "finished").await < place(redis, &pair[1], "started").await);
    }
    until("nothing is left", || async { conveyor_keys(redis).await.is_empty().then_some(()) }).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_calls_itself_its_parent_runs_and_leaves_nothing() {
    let house = consumer().await;
    let (redis, job) = (&house.redis, Message::new("1"));
    let job = Message { parent: job.uuid.clone(), ..job };
    let _: i64 = redis.run(&["SADD", &active(&job), &job.uuid]).await;
    push(redis, "queue:work", &job).await;
    is(redis, &job.uuid, "finished").await;
    closed(redis, &job).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_children_and_continuations_than_one_step_takes_run_all() {
    let house = consumer().await;
    let (redis, parent) = (&house.redis, Message::new("0"));
    let family: Vec<Message> = (0..150).map(|_| Message::new("1").child_of(&parent.uuid)).collect();
    let after: Vec<Message> = (0..150).map(|_| Message::new("2")).collect();
    for (child, continuation) in family.iter().zip(&after) {
        push(redis, &children(&parent), child).await;
        push(redis, &continuations(&parent), continuation).await;
    }
    push(redis, "queue:work", &parent).await;
    for job in family.iter().chain(&after) {
        is(redis, &job.uuid, "finished").await;
    }
    until("nothing is left", || async { conveyor_keys(redis).await.is_empty().then_some(()) }).await;
    for job in family.iter().chain(&after) {
        assert_eq!(runs(redis, &job.uuid).await, 1);
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_retried_stays_active_and_its_parent_closes() {
    let house = consumer().await;
    let (redis, parent) = (&house.redis, Message::new("0"));
    let child = Message { max_retries: 3, ..Message::new("throw 1").child_of(&parent.uuid) };
    let continuation = Message::new("2");
    push(redis, &children(&parent), &child).await;
    push(redis, &continuations(&parent), &continuation).await;
    push(redis, "queue:work", &parent).await;
    is(redis, &child.uuid, "scheduled").await;
    assert!(!exists(redis, &children(&parent)).await);
    assert_eq!(members(redis, &active(&parent)).await, std::slice::from_ref(&child.uuid));
    assert_eq!(hget(redis, &continuation.uuid, "status").await, None);
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{}", child.uuid), "script", "1"]).await;
    is(redis, &continuation.uuid, "finished").await;
    assert_eq!(hget(redis, &child.uuid, "status").await.as_deref(), Some("finished"));
    closed(redis, &parent).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_fails_for_good_leaves_its_parent_which_closes() {
    let house = consumer().await;
    let (redis, parent) = (&house.redis, Message::new("0"));
    // One throws, one is of a type that nobody runs, one has an odd id, one is no message.
    let thrown = Message::new("throw 1").child_of(&parent.uuid);
    let unknown = Message { kind: "mail.Send".into(), ..Message::new("1").child_of(&parent.uuid) };
    let odd = Message { uuid: "7".into(), ..Message::new("1").child_of(&parent.uuid) };
    let continuation = Message::new("2");
    for child in [&thrown, &unknown, &odd] {
        push(redis, &children(&parent), child).await;
    }
    let _: i64 = run(redis, &["LPUSH", &children(&parent)], b"\xff no message").await;
    push(redis, &continuations(&parent), &continuation).await;
    push(redis, "queue:work", &parent).await;
    is(redis, &continuation.uuid, "finished").await;
    closed(redis, &parent).await;
    until("all four are set aside", || async { (elements(redis, "failed").await.len() == 4).then_some(()) }).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_with_the_id_of_another_job_leaves_its_parent() {
    let house = consumer().await;
    let (redis, parent, continuation) = (&house.redis, Message::new("0"), Message::new("2"));
    let other = house.start(crate::support::spec("1")).await;
    push(redis, &children(&parent), &Message { uuid: other.to_string(), ..Message::new("1").child_of(&parent.uuid) }).await;
    push(redis, &continuations(&parent), &continuation).await;
    push(redis, "queue:work", &parent).await;
    is(redis, &continuation.uuid, "finished").await;
    closed(redis, &parent).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_fails_ends_its_children_and_its_continuations_run() {
    let house = consumer().await;
    let (redis, parent) = (&house.redis, Message::new("throw \"no\""));
    let child = Message::new("1").child_of(&parent.uuid);
    let grandchild = Message::new("1").child_of(&child.uuid);
    let (continuation, continuation_of_child) = (Message::new("2"), Message::new("3"));
    push(redis, &children(&parent), &child).await;
    push(redis, &children(&child), &grandchild).await;
    push(redis, &continuations(&parent), &continuation).await;
    push(redis, &continuations(&child), &continuation_of_child).await;
    push(redis, "queue:work", &parent).await;
    is(redis, &continuation.uuid, "finished").await;
    is(redis, &continuation_of_child.uuid, "finished").await;
    for job in [&parent, &child, &grandchild] {
        closed(redis, job).await;
    }
    let failed = until("three that failed", || async {
        let failed = elements(redis, "failed").await;
        (failed.len() == 3).then_some(failed)
    })
    .await;
    let failed: Vec<String> = failed.iter().map(|record| String::from_utf8_lossy(record).into_owned()).collect();
    assert!(failed.iter().any(|record| record.contains(&child.uuid) && record.contains(&format!("its parent {} failed", parent.uuid))));
    assert!(failed.iter().any(|record| record.contains(&format!("its parent {} failed", child.uuid))));
    for job in [&child, &grandchild] {
        assert_eq!(starts(redis, &job.uuid).await, 0);
    }
    until("nothing else is left", || async { (conveyor_keys(redis).await == ["failed"]).then_some(()) }).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_child_counts_once_it_is_released() {
    let house = consumer().await;
    let (redis, parent, continuation) = (&house.redis, Message::new("0"), Message::new("2"));
    let child = Message { run_at: Some(4_000_000_000), ..Message::new("1").child_of(&parent.uuid) };
    push(redis, &children(&parent), &child).await;
    push(redis, &continuations(&parent), &continuation).await;
    push(redis, "queue:work", &parent).await;
    until("it is scheduled", || async {
        let scheduled: Vec<(Vec<u8>, f64)> = redis.run(&["ZRANGE", "scheduled", "0", "-1", "WITHSCORES"]).await;
        (scheduled == [(child.bytes(), 4_000_000_000.0)]).then_some(())
    })
    .await;
    assert_eq!(members(redis, &active(&parent)).await, std::slice::from_ref(&child.uuid));
    assert_eq!(hget(redis, &continuation.uuid, "status").await, None);
    let _: i64 = run(redis, &["ZADD", "scheduled", "1"], &child.bytes()).await;
    is(redis, &continuation.uuid, "finished").await;
    closed(redis, &parent).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_and_continuations_that_come_too_late_run_all_the_same() {
    let house = consumer().await;
    let (redis, parent) = (&house.redis, Message::new("0"));
    push(redis, "queue:work", &parent).await;
    is(redis, &parent.uuid, "finished").await;
    closed(redis, &parent).await;
    let (child, continuation) = (Message::new("1").child_of(&parent.uuid), Message::new("2"));
    push(redis, &children(&parent), &child).await;
    push(redis, &continuations(&parent), &continuation).await;
    is(redis, &child.uuid, "finished").await;
    is(redis, &continuation.uuid, "finished").await;
    closed(redis, &parent).await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relatives_of_a_job_that_nobody_knows_are_kept_for_a_while() {
    let house = House::empty().await;
    let (redis, parent) = (&house.redis, Message::new("0"));
    push(redis, &children(&parent), &Message::new("1")).await;
    let consumer = tokio::sync::Mutex::new(Consumer::new(house.store.clone(), settings()));
    until("it has a TTL", || async {
        consumer.lock().await.tick().await.unwrap();
        (redis.run::<i64>(&["TTL", &children(&parent)]).await > 0).then_some(())
    })
    .await;
    push(redis, "queue:work", &parent).await;
    consumer.lock().await.tick().await.unwrap();
    assert_eq!(redis.run::<i64>(&["TTL", &children(&parent)]).await, -1, "its owner has come");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_active_child_of_a_parent_that_still_runs_does_not_close_it() {
    let house = consumer().await;
    let (redis, parent, continuation) = (&house.redis, Message::new("loop {}"), Message::new("2"));
    let child = Message::new("1").child_of(&parent.uuid);
    push(redis, &continuations(&parent), &continuation).await;
    push(redis, "queue:work", &parent).await;
    is(redis, &parent.uuid, "started").await;
    let _: i64 = redis.run(&["SADD", &active(&parent), &child.uuid]).await;
    push(redis, "queue:work", &child).await;
    is(redis, &child.uuid, "finished").await;
    closed(redis, &child).await;
    gone(redis, &active(&parent)).await;
    assert_eq!(elements(redis, &continuations(&parent)).await, [continuation.bytes()]);
    house.dispatcher.jobs().stop(CONTEXT, &parent.uuid.parse().unwrap()).await.unwrap();
    is(redis, &continuation.uuid, "finished").await;
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_entry_that_means_nothing_does_not_hold_up_the_others() {
    let house = House::empty().await;
    let redis = &house.redis;
    let (missing, parent, continuation) = (id(), Message::new("0"), Message::new("1"));
    for entry in ["", "x", "a b c d", &format!("{missing} error conveyor/"), &format!("{missing} finished elsewhere/")] {
        let _: i64 = redis.run(&["ZADD", "hero:q:conveyor", "1", entry]).await;
    }
    for what in ["children", "active", "onComplete"] {
        let _: String = redis.run(&["SET", &format!("jobs:{missing}:{what}"), "of somebody else"]).await;
    }
    push(redis, &continuations(&parent), &continuation).await;
    let _: i64 = redis.run(&["ZADD", "hero:q:conveyor", "2", &format!("{} finished conveyor/", parent.uuid)]).await;
    Closer::new(house.store.clone()).tick().await.unwrap();
    assert_eq!(elements(redis, "queue:work").await, [continuation.bytes()]);
    assert!(!exists(redis, "hero:q:conveyor").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn closers_that_look_at_the_same_time_release_each_relative_once() {
    let house = House::empty().await;
    let redis = &house.redis;
    let parent = Message::new("0");
    for _ in 0..100 {
        push(redis, &continuations(&parent), &Message::new("1")).await;
    }
    let _: i64 = redis.run(&["ZADD", "hero:q:conveyor", "1", &format!("{} finished conveyor/", parent.uuid)]).await;
    let (mut one, mut two) = (Closer::new(house.store.clone()), Closer::new(redis.store().await));
    let (one, two) = tokio::join!(one.tick(), two.tick());
    one.and(two).unwrap();
    assert_eq!(elements(redis, "queue:work").await.len(), 100);
    assert!(!exists(redis, "hero:q:conveyor").await);
}
