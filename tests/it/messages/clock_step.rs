//! The clock of Redis is set back: due work is still done.

use hero::model::Timestamp;
use hero::store::Settled;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

/// A house whose clock shows a time that is an hour ahead, and the time to which it is set back.
async fn an_hour_ahead() -> (House, Timestamp) {
    let house = House::empty().await;
    let now = house.store.clock().now();
    house.store.clock().stop_at(now.plus(HOUR));
    (house, now)
}

#[tokio::test]
async fn messages_and_stops_do_not_wait_until_the_clock_shows_the_time_again() {
    let (house, now) = an_hour_ahead().await;
    let (redis, store) = (&house.redis, &house.store);
    let messages = Messages::new(house.dispatcher.clone(), Wakes::default());
    for _ in 0..2 {
        messages.send(CONTEXT, chat("x", "redis://10.0.0.7:6379")).await.unwrap();
    }
    let [resting, stopped] = [1, 2].map(|message_id| MessageKey { caller_id: 12, message_id });
    assert_eq!(store.messages().tend("dead", 1).await.unwrap().in_hand, [resting]);
    store.messages().settle("dead", resting, &Settled::Later(Duration::from_secs(30))).await.unwrap();
    assert_eq!(store.messages().tend("dead", 1).await.unwrap().in_hand, [stopped], "it is in the hand of a server that ends");
    let ahead = now.plus(HOUR).as_millis().to_string();
    for (key, member) in [("hero:q:stops", "runner0"), ("hero:q:stops:runner0", "message:12:2"), ("hero:q:answers", "job:12:9")] {
        let _: i64 = redis.run(&["ZADD", key, &ahead, member]).await;
    }
    let _: i64 = redis.run(&["HSET", "job:12:9", "status", "finished", "message", "message:12:8", "result", "{}"]).await;
    store.clock().stop_at(now);
    let tended = store.messages().tend("me", 8).await.unwrap();
    assert_eq!((tended.in_hand, tended.stops, tended.unanswered), (vec![resting], vec![stopped], 0));
    // Nobody would take what is yet to be made.
    let made: i64 = redis.run(&["HGET", &resting.to_string(), "created_at"]).await;
    assert_eq!(made, now.as_millis() / 1000);
    let ends: f64 = redis.run(&["ZSCORE", "hero:q:unsent", &resting.to_string()]).await;
    assert!(ends < now.plus(HOUR).as_millis() as f64, "{ends}");
    // Whoever was heard at a time that is yet to come is silent from now on.
    store.clock().stop_at(now.plus(Duration::from_secs(11)));
    let tended = store.messages().tend("me", 8).await.unwrap();
    assert!(tended.in_hand.contains(&stopped), "{tended:?}");
}

#[tokio::test]
async fn a_stop_is_told_again_in_time_after_that() {
    let (house, now) = an_hour_ahead().await;
    let (redis, store) = (&house.redis, &house.store);
    let key = MessageKey { caller_id: 12, message_id: 2 };
    let _: i64 = redis.run(&["HSET", &key.to_string(), "status", "error", "stopped_at", "1"]).await;
    let ahead = now.plus(HOUR).as_millis().to_string();
    for (set, member) in [("hero:q:stops", "runner0"), ("hero:q:stops:runner0", "message:12:2")] {
        let _: i64 = redis.run(&["ZADD", set, &ahead, member]).await;
    }
    store.clock().stop_at(now);
    for _ in 0..3 {
        assert_eq!(store.messages().tend("me", 8).await.unwrap().stops, [key]);
        // As if it had been told in vain just before the clock was set back again.
        let ahead = now.plus(HOUR).as_millis().to_string();
        let _: i64 = redis.run(&["ZADD", "hero:q:stops:runner0", &ahead, &key.to_string()]).await;
        let _: i64 = redis.run(&["ZADD", "hero:q:stops", &ahead, "runner0"]).await;
    }
}

#[tokio::test]
async fn a_result_is_awaited_for_as_long_as_it_was_to_be() {
    let (house, now) = an_hour_ahead().await;
    let (redis, store) = (&house.redis, &house.store);
    let messages = Messages::new(house.dispatcher.clone(), Wakes::default());
    messages.send(CONTEXT, chat("x", "redis://10.0.0.7:6379")).await.unwrap();
    let key = MessageKey { caller_id: 12, message_id: 1 }.to_string();
    // Its result was awaited for ten seconds more when the clock was set back by an hour.
    let over = now.plus(HOUR + Duration::from_secs(10)).as_millis().to_string();
    let _: i64 = redis.run(&["HSET", &key, "status", "acknowledged", "runner", "runner7"]).await;
    for set in ["hero:q:messages", "hero:q:awaited:runner7"] {
        let _: i64 = redis.run(&["ZADD", set, &over, &key]).await;
    }
    store.queues().reap(8).await.unwrap();
    // The hash has its times in whole seconds.
    for (passed, status) in [(0, "acknowledged"), (9, "acknowledged"), (12, "error")] {
        store.clock().stop_at(now.plus(Duration::from_secs(passed)));
        for _ in 0..3 {
            store.queues().reap(8).await.unwrap();
        }
        let ends = async |set: &str| redis.run::<Option<String>>(&["ZSCORE", set, &key]).await;
        assert_eq!(ends("hero:q:messages").await, ends("hero:q:awaited:runner7").await);
        store.messages().tend("me", 8).await.unwrap();
        assert_eq!(redis.run::<String>(&["HGET", &key, "status"]).await, status, "{passed} s after that");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_another_context_arrives_whatever_the_clock_shows() {
    let house = House::with_contexts(&[ContextId(1)]).await;
    // That of this machine shows another time.
    let now = house.store.clock().now().minus(HOUR);
    for store in house.dispatcher.contexts().stores() {
        store.clock().stop_at(now);
    }
    let town = Town::over(house, &NodeKey::random(), Plan::new(0));
    let key = town.send(Draft { target_context: ContextId(1), ..chat("x", "here") }).await;
    town.becomes(key, MessageStatus::Acknowledged).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_job_that_waits_is_looked_at_again() {
    let house = House::open(1).await;
    let redis = &house.redis;
    let ahead = house.store.clock().now().plus(HOUR).as_millis().to_string();
    let _: i64 = redis.run(&["HSET", "job:12:1", "script", "1", "status", "waiting_for_prerequisites"]).await;
    let _: i64 = redis.run(&["ZADD", "hero:q:unwritten", &ahead, "job:12:1 queue:osis - osis"]).await;
    until("its end", || async {
        (redis.run::<Option<String>>(&["HGET", "job:12:1", "status"]).await.as_deref() == Some("finished")).then_some(())
    })
    .await;
    house.close().await;
}
