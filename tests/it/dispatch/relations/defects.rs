//! Known defects of the conveyor, from which this life of a job comes, must not occur here.

use std::collections::BTreeSet;
use std::time::Duration;

use hero::model::{JobId, JobSpec, Status};
use hero::store::NewJob;

use super::hand::Hand;
use super::{after, by_hand, child_of, continuation_of, leaves_nothing, released, status};
use crate::support::{Redis, spec};

#[tokio::test(flavor = "multi_thread")]
async fn relatives_of_a_job_whose_actor_died_for_the_third_time_are_released() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let hand = Hand::of_crowded(&store, &redis);
    let start = async |spec| {
        let id = JobId::random();
        store.jobs().create(NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None }).await.unwrap();
        id
    };
    let job = start(spec("1")).await;
    let (dependent, continuation) = (start(after(&[&job])).await, start(continuation_of(&job)).await);
    for _ in 1..=3 {
        hand.take(&job).await;
        hand.forget().await;
        store.clock().advance(Duration::from_secs(31));
        store.queues().reap(128).await.unwrap();
    }
    crate::support::until("the release", || async {
        store.jobs().release_relatives(128).await.unwrap();
        (store.jobs().get(&dependent).await.unwrap()?.status == Status::Error).then_some(())
    })
    .await;
    hand.take(&continuation).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recovery_after_a_crash_does_not_stop_at_a_job_that_is_gone() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let hand = Hand::of_crowded(&store, &redis);
    let mut jobs = Vec::new();
    for _ in 0..30 {
        let id = JobId::random();
        store
            .jobs()
            .create(NewJob { id: id.clone(), spec: spec("1"), start: true, waited: false, occurrence: None, flow: None })
            .await
            .unwrap();
        jobs.push(id);
    }
    assert_eq!(hand.take_all().await, 30);
    for (at, job) in jobs.iter().enumerate().filter(|(at, _)| at % 3 == 0) {
        let key = format!("hero:job:{job}");
        let _: i64 = redis.run(&["DEL", &key]).await;
        if at % 2 == 0 {
            // What somebody else keeps under its name is no job either.
            let _: () = redis.run(&["SET", &key, "nonsense"]).await;
        }
    }
    store.clock().advance(Duration::from_secs(31));
    let mut looked = 1;
    while looked > 0 {
        looked = store.queues().reap(5).await.unwrap().unwrap();
    }
    for (at, job) in jobs.iter().enumerate().filter(|(at, _)| at % 3 != 0) {
        assert_eq!(store.jobs().get(job).await.unwrap().unwrap().status, Status::Dispatched, "{at}");
    }
    assert_eq!(redis.run::<i64>(&["EXISTS", "hero:q:leases"]).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_does_not_stop_at_a_relative_that_is_gone() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    let (mut children, mut continuations, mut dependents) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..3 {
        children.push(house.start(child_of(&parent)).await);
        continuations.push(house.start(continuation_of(&parent)).await);
        dependents.push(house.start(after(&[&parent])).await);
    }
    for (at, gone) in
        [&children[0], &continuations[0], &dependents[0], &children[1], &continuations[1], &dependents[1]].into_iter().enumerate()
    {
        let key = format!("hero:job:{gone}");
        let _: i64 = house.redis.run(&["DEL", &key]).await;
        if at >= 3 {
            let _: () = house.redis.run(&["SET", &key, "nonsense", "EX", "60"]).await;
        }
    }
    hand.finish(&parent).await;
    for left in [&children[2], &dependents[2], &continuations[2]] {
        hand.finish(left).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_whose_hash_is_gone_hangs_nobody() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    let (child, continuation) = (house.start(child_of(&parent)).await, house.start(continuation_of(&parent)).await);
    hand.finish(&parent).await;
    hand.take(&child).await;
    released(&house.redis).await;
    let _: i64 = house.redis.run(&["DEL", &format!("hero:job:{parent}")]).await;
    for job in [&child, &continuation] {
        hand.finish(job).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_is_not_forgotten_before_its_children_have_ended() {
    let (house, hand) = by_hand().await;
    let parent = house.start(JobSpec { retention: hero::model::Seconds::new(1.0), ..spec("1") }).await;
    let (child, continuation) = (house.start(child_of(&parent)).await, house.start(continuation_of(&parent)).await);
    // Ends after the parent and is kept as long, so that its absence shows that the parent's time has come.
    let clock = house.start(JobSpec { retention: hero::model::Seconds::new(1.0), ..spec("1") }).await;
    hand.finish(&parent).await;
    hand.finish(&clock).await;
    hand.take(&child).await;
    let gone = || async { (house.redis.run::<i64>(&["EXISTS", &format!("hero:job:{clock}")]).await == 0).then_some(()) };
    crate::support::until("the end of the retention", gone).await;
    let late = house.start(child_of(&parent)).await;
    hand.finish(&child).await;
    released(&house.redis).await;
    assert_eq!(status(&house, &continuation).await, Status::WaitingForPrerequisites);
    hand.finish(&late).await;
    hand.finish(&continuation).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_is_not_forgotten_before_its_relatives_are_released() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let hand = Hand::of_crowded(&store, &redis);
    let create = async |spec| {
        let id = JobId::random();
        store.jobs().create(NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None }).await.unwrap();
        id
    };
    let brief = |spec| JobSpec { retention: hero::model::Seconds::new(0.5), ..spec };
    let grandparent = create(spec("1")).await;
    let parent = create(brief(child_of(&grandparent))).await;
    let (child, continuation) = (create(brief(child_of(&parent))).await, create(continuation_of(&grandparent)).await);
    let clock = create(brief(spec("1"))).await;
    hand.finish(&grandparent).await;
    while store.jobs().release_relatives(1).await.unwrap() {}
    hand.finish(&parent).await;
    hand.finish(&clock).await;
    // No server releases anything for longer than the parent is kept.
    crate::support::until("the end of the retention", || async { store.jobs().get(&clock).await.unwrap().is_none().then_some(()) }).await;
    while store.jobs().release_relatives(1).await.unwrap() {}
    // Whoever asks for the result does not make the parent go either.
    store.jobs().look(&parent).await.unwrap();
    store.jobs().wait(&parent).await.unwrap();
    assert_eq!(redis.run::<i64>(&["TTL", &format!("hero:job:{parent}")]).await, -1);
    hand.finish(&child).await;
    while store.jobs().release_relatives(1).await.unwrap() {}
    hand.finish(&continuation).await;
    while store.jobs().release_relatives(1).await.unwrap() {}
    assert!(redis.run::<i64>(&["TTL", &format!("hero:job:{grandparent}")]).await > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_promoters_never_run_one_delayed_job_twice() {
    let redis = Redis::start().await;
    let stores = [redis.store().await, redis.store().await];
    let due = stores[0].clock().now().plus(Duration::from_secs(60));
    let first = JobId::random();
    stores[0]
        .jobs()
        .create(NewJob { id: first.clone(), spec: spec("1"), start: false, waited: false, occurrence: None, flow: None })
        .await
        .unwrap();
    let mut jobs = BTreeSet::new();
    for at in 0..600 {
        let id = JobId::random();
        let mut new = JobSpec { run_at: Some(due), ..spec("1") };
        if at % 3 == 0 {
            new.prerequisites = vec![first.clone()];
        }
        stores[0]
            .jobs()
            .create(NewJob { id: id.clone(), spec: new, start: true, waited: false, occurrence: None, flow: None })
            .await
            .unwrap();
        jobs.insert(id.to_string());
    }
    stores[0].jobs().start(&first).await.unwrap();
    let hand = Hand::of_crowded(&stores[0], &redis);
    hand.finish(&first).await;
    while stores[0].jobs().release_relatives(128).await.unwrap() {}
    for store in &stores {
        store.clock().advance(Duration::from_secs(61));
    }
    let promoting = stores.iter().flat_map(|store| (0..4).map(move |_| store)).map(async |store| {
        while store.jobs().promote(7).await.unwrap().handled > 0 {
            tokio::task::yield_now().await;
        }
    });
    futures_util::future::join_all(promoting).await;
    let queued: Vec<String> = redis.run(&["LRANGE", "hero:q:work:type:osis", "0", "-1"]).await;
    assert_eq!(queued.len(), 600);
    assert_eq!(queued.into_iter().collect::<BTreeSet<_>>(), jobs);
    assert_eq!(hand.take_all().await, 600);
    assert_eq!(hand.finish_all().await, 600);
    assert_eq!(hand.take_all().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_servers_that_release_at_once_let_everyone_go_once() {
    let (house, hand) = by_hand().await;
    // A second server has the same loops.
    let other = crate::support::dispatcher([house.redis.store().await], house.redis.directory());
    drop(other.start_services(&house.shutdown));
    let [left, right] = [house.start(spec("1")).await, house.start(spec("1")).await];
    let mut both = Vec::new();
    for _ in 0..500 {
        both.push(house.start(after(&[&left, &right])).await);
    }
    let third = super::create(&house, spec("1")).await;
    let three = house.start(after(&[&left, &right, &third])).await;
    hand.take(&left).await;
    hand.take(&right).await;
    tokio::join!(hand.finish(&left), hand.finish(&right));
    hand.take(&both[499]).await;
    released(&house.redis).await;
    hand.take_all().await;
    for job in &both {
        assert_eq!(hand.times(job).await, 1);
    }
    assert_eq!(status(&house, &three).await, Status::WaitingForPrerequisites);
    hand.finish_all().await;
    super::begin(&house, &third).await;
    hand.finish(&third).await;
    hand.finish(&three).await;
    leaves_nothing(&house.redis).await;
}
