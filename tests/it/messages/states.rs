//! What a message may become, whoever says so.

use hero::store::Settled;

use super::*;

const KEY: MessageKey = MessageKey { caller_id: 12, message_id: 5 };

#[tokio::test]
async fn an_attempt_that_failed_changes_nothing_once_another_has_arrived() {
    let house = House::empty().await;
    let status = || async { house.redis.run::<String>(&["HGET", &KEY.to_string(), "status"]).await };
    let failed = Settled::Failed(hero::model::ErrorKind::Unavailable, "no".into());
    for was in ["acknowledged", "processed", "error"] {
        let _: i64 = house.redis.run(&["HSET", &KEY.to_string(), "status", was]).await;
        assert!(!house.store.settle_message("me", KEY, &failed).await.unwrap());
        assert_eq!(status().await, was);
    }
    let _: i64 = house.redis.run(&["HSET", &KEY.to_string(), "status", "dispatched"]).await;
    assert!(house.store.settle_message("me", KEY, &failed).await.unwrap());
    assert_eq!(status().await, "error");
}

#[tokio::test]
async fn a_message_that_was_deleted_is_nowhere_and_does_not_come_back() {
    let house = House::empty().await;
    let (redis, name) = (&house.redis, KEY.to_string());
    let _: i64 = redis.run(&["HSET", &name, "status", "dispatched"]).await;
    let _: i64 = redis.run(&["LPUSH", "msg_out:sending:me", &name]).await;
    let _: i64 = redis.run(&["ZADD", "hero:meta:nodes", "1000", "me"]).await;
    let _: i64 = redis.run(&["ZADD", "hero:q:resting", "1000", &name]).await;
    house.store.delete_message(KEY).await.unwrap();
    let left: i64 = redis.run(&["EXISTS", "msg_out:sending:me", "hero:q:resting"]).await;
    assert_eq!(left, 0);
    // Its attempt ends after that.
    assert!(!house.store.complete_message(KEY, &[("nonce", "x")]).await.unwrap());
    for settled in
        [Settled::Stored(None), Settled::Later(Duration::ZERO), Settled::Failed(hero::model::ErrorKind::Unavailable, "no".into())]
    {
        assert!(!house.store.settle_message("me", KEY, &settled).await.unwrap());
    }
    let there: i64 = redis.run(&["EXISTS", &name, "hero:q:resting"]).await;
    assert_eq!(there, 0);
}
