//! The maximum number of jobs that may arrive by messages.

use hero::model::Timestamp;
use hero::store::{Lack, NewMessage, Received, RunnerJob, Store};

use super::*;
use crate::support::{PATIENCE, spec};

const KEY: MessageKey = MessageKey { caller_id: 12, message_id: 5 };

/// A message of type job that comes.
fn coming(nonce: &str, jobs: u32) -> NewMessage {
    let script_type: hero::model::ScriptType = "osis".parse().unwrap();
    let job = |number| RunnerJob { caller: 12, number, script_type: script_type.clone(), fields: vec![("script", "1".to_owned())] };
    NewMessage {
        nonce: nonce.to_owned(),
        signer: NodeKey::random().public(),
        again: Timestamp::local().plus(PATIENCE),
        caller: 12,
        number: 1,
        fields: vec![("message_type", "job".to_owned())],
        jobs: (0..jobs).map(job).collect(),
    }
}

async fn receive(store: &Store, nonce: &str, jobs: u32) -> Received {
    store.messages().receive(&coming(nonce, jobs)).await.unwrap().0
}

#[tokio::test]
async fn jobs_that_come_by_messages_count_for_the_limits_of_the_context() {
    let house = House::empty().await;
    house.store.limits().set_jobs_per_second(1);
    assert_eq!(receive(&house.store, "a", 60).await, Received::Stored);
    assert_eq!(receive(&house.store, "b", 60).await, Received::Full(Lack::Rate(1)), "jobs_per_second");
    let jobs = Ok(coming("c", 60).jobs);
    let _: i64 = house.redis.run(&["HSET", &KEY.to_string(), "message_type", "job"]).await;
    let _: i64 = house.redis.run(&["LPUSH", "msg_in", &KEY.to_string()]).await;
    assert_eq!(house.store.messages().make_runner_jobs(KEY, &jobs).await.unwrap(), None);
    // What clients create counts with them, however little it is.
    assert!(house.dispatcher.jobs().create(spec("1")).await.is_err());
    house.store.limits().set_jobs_per_second(0);
    assert_eq!(receive(&house.store, "b", 60).await, Received::Stored);
    house.store.limits().set_queues(150);
    let full = Lack::Queue { script_type: "osis".into(), most: 150 };
    assert_eq!(receive(&house.store, "d", 31).await, Received::Full(full), "queue_length");
    assert_eq!(house.store.messages().make_runner_jobs(KEY, &jobs).await.unwrap(), None);
    assert_eq!(receive(&house.store, "d", 30).await, Received::Stored);
    house.store.limits().set_queues(1000);
    assert!(house.store.messages().make_runner_jobs(KEY, &jobs).await.unwrap().is_some());
    let waiting: i64 = house.redis.run(&["LLEN", "queue:osis"]).await;
    assert_eq!(waiting, 210);
}
