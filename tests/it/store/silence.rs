//! The network drops everything, and never reports a broken connection.

use futures_util::poll;
use hero::model::JobId;
use hero::service::{self, Service as _};
use hero::store::{Error, JobView, Subscriber};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::{Hole, PATIENCE, Plan, Redis, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_swallows_everything_is_left_for_a_new_one() {
    let redis = Redis::start().await;
    let hole = Hole::before(&redis);
    let store = Plan::at(hole.endpoint()).store().await;
    let job = [JobId::random()];
    for _ in 0..2 {
        store.jobs().exist(&job).await.unwrap();
        hole.swallow();
        until("an answer", || async { store.jobs().exist(&job).await.ok() }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_wait_for_a_turn_to_read_a_long_result_ends_when_its_caller_says() {
    let redis = Redis::start().await;
    let hole = Hole::before(&redis);
    let store = Plan::at(hole.endpoint()).store().await;
    let (job, now) = (JobId::random(), Instant::now());
    let whole = |until| store.jobs().whole(&job, usize::MAX, until);
    assert_eq!(whole(now).await.unwrap(), JobView::Missing, "a turn that is free needs no wait");
    hole.swallow();
    let mut reading: Vec<_> = (0..4).map(|_| Box::pin(whole(now + PATIENCE))).collect();
    for read in &mut reading {
        assert!(poll!(read).is_pending());
    }
    let late = whole(now).await;
    assert!(matches!(late, Err(Error::Deadline(waited)) if waited < PATIENCE), "{late:?}");
}

#[tokio::test]
async fn a_subscriber_says_that_it_works_once_it_listens() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut subscriber = Subscriber::new(store.clone(), Vec::new());
    tokio::time::timeout(PATIENCE, subscriber.tick()).await.expect("it does not wait for the end of its connection").unwrap();
    let (_, listening): (String, i64) = redis.run(&["PUBSUB", "NUMSUB", &format!("hero:inbox:{}", store.server())]).await;
    assert_eq!(listening, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_hears_nothing_is_made_again() {
    let redis = Redis::start().await;
    let hole = Hole::before(&redis);
    let store = Plan::at(hole.endpoint()).store().await;
    let channel = format!("hero:inbox:{}", store.server());
    let subscribers = |number: i64| {
        let (redis, channel) = (&redis, &channel);
        async move {
            let (_, found): (String, i64) = redis.run(&["PUBSUB", "NUMSUB", channel]).await;
            (found == number).then_some(())
        }
    };
    let shutdown = CancellationToken::new();
    let listening = tokio::spawn(service::run(Subscriber::new(store.clone(), Vec::new()), shutdown.clone()));
    until("a subscription", || subscribers(1)).await;
    hole.swallow();
    // Redis does not see that the first leads nowhere.
    until("a second subscription", || subscribers(2)).await;
    shutdown.cancel();
    listening.await.unwrap();
}
