//! What an end releases in the call that records it.

use super::reuse::{make, quiet_hand, started};
use super::*;

#[tokio::test]
async fn the_call_that_records_an_end_takes_the_job_that_waited_for_it() {
    let (_redis, store, hand) = quiet_hand().await;
    let first = started(&store, spec("1")).await;
    let second = started(&store, after(&[&first])).await;
    let third = started(&store, continuation_of(&second)).await;
    assert_eq!(hand.finish_and_take(&first).await, std::slice::from_ref(&second));
    assert_eq!(hand.finish_and_take(&second).await, std::slice::from_ref(&third));
    assert_eq!(hand.finish_and_take(&third).await, []);
    assert!(!store.jobs().release_relatives(128).await.unwrap());
}

#[tokio::test]
async fn an_end_releases_a_few_relatives_and_leaves_the_rest() {
    let (redis, store, hand) = quiet_hand().await;
    let first = started(&store, spec("1")).await;
    let mut waiting = Vec::new();
    for _ in 0..100 {
        waiting.push(started(&store, after(&[&first])).await);
    }
    let taken = hand.finish_and_take(&first).await;
    assert!((1..100).contains(&taken.len()), "{}", taken.len());
    let left: i64 = redis.run(&["LLEN", "hero:q:release"]).await;
    assert_eq!(left, 1);
    while store.jobs().release_relatives(128).await.unwrap() {}
    hand.take_all().await;
    for job in &waiting {
        assert_eq!(hand.times(job).await, 1);
    }
    hand.finish_all().await;
}

#[tokio::test]
async fn an_end_counts_although_its_relatives_cannot_be_released() {
    let (redis, store, hand) = quiet_hand().await;
    let parent = started(&store, spec("1")).await;
    let child = started(&store, child_of(&parent)).await;
    hand.take(&parent).await;
    // Keeping the parent is refused.
    let _: String = redis.run(&["ACL", "SETUSER", "default", "-persist"]).await;
    hand.finish(&parent).await;
    assert_eq!(store.jobs().status(&parent).await.unwrap(), Some(Status::Finished));
    assert!(store.jobs().release_relatives(128).await.is_err());
    let _: String = redis.run(&["ACL", "SETUSER", "default", "+persist"]).await;
    while store.jobs().release_relatives(128).await.unwrap() {}
    hand.finish(&child).await;
    let left: i64 = redis.run(&["EXISTS", "hero:q:release"]).await;
    assert_eq!(left, 0);
}

#[tokio::test]
async fn what_an_end_releases_for_another_type_wakes_its_pool() {
    let (_redis, store, hand) = quiet_hand().await;
    let python = "python".parse().unwrap();
    let (own, other) = (store.wake_ups().register(&"osis".parse().unwrap()), store.wake_ups().register(&python));
    let first = started(&store, spec("1")).await;
    started(&store, JobSpec { script_type: python, ..after(&[&first]) }).await;
    let second = started(&store, after(&[&first])).await;
    own.notified().await;
    assert_eq!(hand.finish_and_take(&first).await, [second]);
    tokio::time::timeout(PATIENCE, other.notified()).await.expect("the pool of the other type is woken");
    // The own one has taken its job already.
    assert!(futures_util::FutureExt::now_or_never(own.notified()).is_none());
    hand.finish_all().await;
}

#[tokio::test]
async fn what_a_full_pool_leaves_wakes_the_others_of_its_type() {
    let (_redis, store, hand) = quiet_hand().await;
    let first = started(&store, spec("1")).await;
    hand.take(&first).await;
    for _ in 0..3 {
        started(&store, after(&[&first])).await;
    }
    let pools = store.wake_ups().register(&"osis".parse().unwrap());
    assert_eq!(hand.finish_and_take_some(&first, 1).await.len(), 1);
    tokio::time::timeout(PATIENCE, pools.notified()).await.expect("the pools of the type are woken");
    hand.take_all().await;
    hand.finish_all().await;
}

#[tokio::test]
async fn the_failure_of_a_job_ends_in_the_same_call_what_waits_for_it() {
    let (_redis, store, hand) = quiet_hand().await;
    let first = started(&store, spec("1")).await;
    let second = started(&store, after(&[&first])).await;
    assert!(matches!(make(&store, after(&[&second]), true).await, hero::store::Created::Created(_)));
    assert_eq!(hand.fail(&first).await, Status::Error);
    assert_eq!(store.jobs().status(&second).await.unwrap(), Some(Status::Error));
}
