//! The allowed state changes of a message, whoever requests them.

use hero::model::Timestamp;
use hero::store::{MessageDeleted, NewMessage, RunnerJob, Settled, StopTold};

use super::*;
use crate::support::PATIENCE;

const KEY: MessageKey = MessageKey { caller_id: 12, message_id: 5 };

#[tokio::test]
async fn an_attempt_that_failed_changes_nothing_once_another_has_arrived() {
    let house = House::empty().await;
    let status = || async { house.redis.run::<String>(&["HGET", &KEY.to_string(), "status"]).await };
    let failed = Settled::Failed(hero::model::ErrorKind::Unavailable, "no".into());
    for was in ["acknowledged", "processed", "error"] {
        let _: i64 = house.redis.run(&["HSET", &KEY.to_string(), "status", was]).await;
        assert!(!house.store.messages().settle("me", KEY, &failed).await.unwrap());
        assert_eq!(status().await, was);
    }
    let _: i64 = house.redis.run(&["HSET", &KEY.to_string(), "status", "dispatched"]).await;
    assert!(house.store.messages().settle("me", KEY, &failed).await.unwrap());
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
    house.store.messages().delete(KEY).await.unwrap();
    let left: i64 = redis.run(&["EXISTS", "msg_out:sending:me", "hero:q:resting"]).await;
    assert_eq!(left, 0);
    // Its attempt ends after that.
    assert!(!house.store.messages().complete(KEY, &[("nonce", "x")]).await.unwrap());
    for settled in
        [Settled::Stored(None), Settled::Later(Duration::ZERO), Settled::Failed(hero::model::ErrorKind::Unavailable, "no".into())]
    {
        assert!(!house.store.messages().settle("me", KEY, &settled).await.unwrap());
    }
    let there: i64 = redis.run(&["EXISTS", &name, "hero:q:resting"]).await;
    assert_eq!(there, 0);
}

/// A message of type job that came from another node, with two jobs.
async fn receive_jobs(house: &House) {
    let job = |number| RunnerJob { caller: 12, number, script_type: "osis".parse().unwrap(), fields: vec![("script", "1".to_owned())] };
    let message = NewMessage {
        nonce: "a".to_owned(),
        signer: NodeKey::random().public(),
        again: Timestamp::local().plus(PATIENCE),
        caller: KEY.caller_id,
        number: KEY.message_id,
        fields: vec![("message_type", "job".to_owned()), ("status", "acknowledged".to_owned()), ("reply_address", "here".to_owned())],
        jobs: vec![job(1), job(2)],
    };
    house.store.messages().receive(&message).await.unwrap();
}

#[tokio::test]
async fn a_message_that_came_is_kept_until_each_of_its_jobs_is_answered() {
    let house = House::empty().await;
    receive_jobs(&house).await;
    for job in ["job:12:1", "job:12:2"] {
        assert_eq!(house.store.messages().delete(KEY).await.unwrap(), MessageDeleted::Unanswered, "{job}");
        let _: i64 = house.redis.run(&["HSET", job, "status", "finished", "result", r#"{"output":"1"}"#]).await;
        let _: i64 = house.redis.run(&["ZADD", "hero:q:answers", "1", job]).await;
        assert!(house.store.messages().tend("me", 8).await.unwrap().moved);
    }
    assert_eq!(house.store.messages().delete(KEY).await.unwrap(), MessageDeleted::Deleted);
    let answers: i64 = house.redis.run(&["LLEN", "msg_out:sending:me"]).await;
    assert_eq!(answers, 2);
}

#[tokio::test]
async fn a_message_is_kept_until_the_other_side_knows_that_its_job_was_stopped() {
    let house = House::empty().await;
    let _: i64 = house.redis.run(&["HSET", &KEY.to_string(), "status", "error", "away", "x", "stopped_at", "1"]).await;
    let _: i64 = house.redis.run(&["ZADD", "hero:q:stops:runner0", "1000", &KEY.to_string()]).await;
    assert_eq!(house.store.messages().delete(KEY).await.unwrap(), MessageDeleted::Untold);
    assert!(house.store.messages().settle_stop(KEY, &StopTold::Told).await.unwrap());
    assert_eq!(house.store.messages().delete(KEY).await.unwrap(), MessageDeleted::Deleted);
}

#[tokio::test]
async fn a_context_with_jobs_or_messages_under_way_is_closed_only_with_them() {
    let house = House::empty().await;
    receive_jobs(&house).await;
    let open = house.store.contexts().close(false).await.unwrap().unwrap();
    assert_eq!((open.running, open.queued, open.scheduled, open.messages), (0, 2, 0, 0));
    let _: i64 = house.redis.run(&["DEL", "hero:q:answers"]).await;
    for (add, count) in [
        (["ZADD", "hero:meta:nodes", "1000", "me"].as_slice(), 0),
        (&["LPUSH", "msg_out", "message:12:6"], 1),
        (&["LPUSH", "msg_out:sending:me", "message:12:7"], 2),
        (&["ZADD", "hero:q:resting", "1000", "message:12:8"], 3),
        (&["ZADD", "hero:q:messages", "1000", "message:12:9"], 4),
        (&["ZADD", "hero:q:stops", "1000", "runner1"], 5),
    ] {
        let _: i64 = house.redis.run(add).await;
        if count > 0 {
            let open = house.store.contexts().close(false).await.unwrap().unwrap();
            assert_eq!((open.queued, open.messages), (0, count), "{add:?}");
        }
    }
    assert_eq!(house.store.contexts().close(true).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_no_message_does_not_stay_in_the_hand_of_a_node() {
    let house = House::empty().await;
    let redis = &house.redis;
    let nonsense: Vec<String> = (0..200).map(|n| format!("nonsense {n}")).collect();
    let words: Vec<&str> =
        ["LPUSH", "msg_out:sending:me", "message:12:77"].into_iter().chain(nonsense.iter().map(String::as_str)).collect();
    let _: i64 = redis.run(&words).await;
    let _: i64 = redis.run(&["HSET", &KEY.to_string(), "status", "dispatched"]).await;
    let _: i64 = redis.run(&["LPUSH", "msg_out", &KEY.to_string()]).await;
    for _ in 0..2 {
        assert!(house.store.messages().tend("me", 128).await.unwrap().moved);
    }
    let left: Vec<String> = redis.run(&["LRANGE", "msg_out:sending:me", "0", "-1"]).await;
    assert_eq!(left, [KEY.to_string()]);
    assert!(!house.store.messages().tend("me", 128).await.unwrap().moved);
}

#[tokio::test]
async fn a_single_place_is_for_the_message_that_has_waited_longer() {
    let house = House::empty().await;
    let redis = &house.redis;
    let name = |message_id| MessageKey { caller_id: 12, message_id };
    let _: i64 = redis.run(&["HSET", &name(2).to_string(), "status", "dispatched", "created_at", "1"]).await;
    let _: i64 = redis.run(&["ZADD", "hero:q:resting", "5000", &name(2).to_string()]).await;
    for (number, created_at) in [(1, "1"), (3, "6")] {
        let _: i64 = redis.run(&["HSET", &name(number).to_string(), "status", "dispatched", "created_at", created_at]).await;
        let _: i64 = redis.run(&["LPUSH", "msg_out", &name(number).to_string()]).await;
    }
    for number in 1..=3 {
        assert_eq!(house.store.messages().tend("me", 1).await.unwrap().in_hand, [name(number)]);
        let _: i64 = redis.run(&["DEL", "msg_out:sending:me"]).await;
    }
}
