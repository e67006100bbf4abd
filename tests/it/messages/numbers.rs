//! Job numbers that other programs have taken: nothing is overwritten, and nothing is lost if finding a free one takes
//! more than one call.

use hero::model::{FlowSpec, JobId, Status, Timestamp};
use hero::store::{FarEnd, FlowCreated, Lack, MessageStored, NewFlow, NewFlowJob, NewMessage, NewResult, Received, RunnerJob};

use super::*;
use crate::support::{PATIENCE, spec};

/// The last number that the first call looks at.
const LOOKED_AT: u32 = 500_500;

/// Takes every number that the first call checks when it looks for a free one.
async fn take(redis: &Redis, kind: &str) {
    let numbers = (1..=500).chain((1..=500).map(|n| 500 + 1000 * n));
    let words: Vec<String> = numbers.flat_map(|n| [format!("{kind}:{n}"), "theirs".to_owned()]).collect();
    let words: Vec<&str> = ["MSET"].into_iter().chain(words.iter().map(String::as_str)).collect();
    let _: String = redis.run(&words).await;
}

fn number_of(name: &str) -> u32 {
    name.rsplit(':').next().unwrap().parse().unwrap()
}

/// A job of caller 12, as it comes.
fn job(number: u32) -> RunnerJob {
    RunnerJob { caller: 12, number, script_type: "osis".parse().unwrap(), fields: vec![("script", "1".to_owned())] }
}

/// A message of type job that comes.
fn coming(nonce: &str, jobs: &[u32]) -> NewMessage {
    NewMessage {
        nonce: nonce.to_owned(),
        signer: NodeKey::random().public(),
        again: Timestamp::local().plus(PATIENCE),
        caller: 12,
        number: 1,
        fields: vec![("message_type", "job".to_owned())],
        jobs: jobs.iter().copied().map(job).collect(),
    }
}

#[tokio::test]
async fn jobs_that_come_get_numbers_of_their_own_or_come_again() {
    let house = House::empty().await;
    let (redis, store) = (&house.redis, &house.store);
    take(redis, "job:12").await;
    let message = coming("a", &[900, 1, 2, 900]);
    assert_eq!(store.messages().receive(&message).await.unwrap().0, Received::Full(Lack::Number));
    let there: i64 = redis.run(&["EXISTS", "queue:osis", "message:12:1", "job:12:900"]).await;
    assert_eq!(there, 0, "something was done");
    let (received, made) = store.messages().receive(&message).await.unwrap();
    assert_eq!(received, Received::Stored);
    let numbers: Vec<u32> = made.jobs.iter().map(|(name, _)| number_of(name)).collect();
    assert_eq!(numbers, [900, LOOKED_AT + 1, LOOKED_AT + 2, LOOKED_AT + 3]);
    let waiting: i64 = redis.run(&["LLEN", "queue:osis"]).await;
    assert_eq!(waiting, 4);
    for taken in ["job:12:1", "job:12:2", "job:12:500", "job:12:500500"] {
        assert_eq!(redis.run::<String>(&["GET", taken]).await, "theirs");
    }
}

#[tokio::test]
async fn a_job_gets_no_number_that_comes_with_it() {
    let house = House::empty().await;
    let _: i64 = house.redis.run(&["HSET", "job:12:5", "status", "started"]).await;
    let _: String = house.redis.run(&["SET", "hero:seq:job", "5"]).await;
    let (_, made) = house.store.messages().receive(&coming("a", &[5, 6])).await.unwrap();
    let names: Vec<&str> = made.jobs.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["job:12:7", "job:12:6"]);
    // There is none left: nothing is overwritten.
    let _: String = house.redis.run(&["SET", "hero:seq:job", "4294967295"]).await;
    assert_eq!(house.store.messages().receive(&coming("b", &[5])).await.unwrap().0, Received::Full(Lack::Number));
    assert_eq!(house.redis.run::<String>(&["HGET", "job:12:5", "status"]).await, "started");
}

#[tokio::test]
async fn a_message_of_another_program_waits_until_its_jobs_have_numbers() {
    let house = House::empty().await;
    let redis = &house.redis;
    take(redis, "job:12").await;
    let key = MessageKey { caller_id: 12, message_id: 5 };
    let _: i64 = redis.run(&["HSET", &key.to_string(), "message_type", "job"]).await;
    let _: i64 = redis.run(&["LPUSH", "msg_in", &key.to_string()]).await;
    let jobs = Ok(vec![job(1)]);
    assert_eq!(house.store.messages().make_runner_jobs(key, &jobs).await.unwrap(), None);
    assert_eq!(redis.run::<i64>(&["LLEN", "msg_in"]).await, 1);
    let made = house.store.messages().make_runner_jobs(key, &jobs).await.unwrap().unwrap();
    assert_eq!(number_of(&made.jobs[0].0), LOOKED_AT + 1);
    assert_eq!(redis.run::<i64>(&["LLEN", "msg_in"]).await, 0);
}

#[tokio::test]
async fn a_result_without_a_number_comes_again_and_is_not_lost() {
    let house = House::empty().await;
    let redis = &house.redis;
    take(redis, "message:12").await;
    let asked = "message:12:900000";
    let _: i64 = redis.run(&["HSET", asked, "message_type", "job", "nonce", "asked", "status", "acknowledged"]).await;
    let result = NewResult {
        nonce: "r".to_owned(),
        caller: 12,
        number: 900_000,
        awaited: "asked".to_owned(),
        signer: NodeKey::random().public(),
        end: FarEnd::Finished("1".to_owned(), "text"),
        fields: vec![("message", "x".to_owned())],
    };
    assert_eq!(house.store.messages().receive_result(&result).await.unwrap(), Received::Full(Lack::Number));
    assert_eq!(redis.run::<String>(&["HGET", asked, "status"]).await, "acknowledged");
    assert_eq!(house.store.messages().receive_result(&result).await.unwrap(), Received::Stored);
    let came: Vec<String> = redis.run(&["LRANGE", "msg_in", "0", "-1"]).await;
    assert_eq!(came, [format!("message:12:{}", LOOKED_AT + 1)]);
    assert_eq!(redis.run::<String>(&["HGET", asked, "status"]).await, "processed");
}

#[tokio::test]
async fn a_job_goes_away_later_if_its_message_has_no_number_yet() {
    let house = House::empty().await;
    let (redis, store) = (&house.redis, &house.store);
    let runner = Runners::new(house.dispatcher.clone()).create(CONTEXT, &elsewhere("node:berlin", CONTEXT)).await.unwrap();
    take(redis, "message:0").await;
    let job = house.start(hero::model::JobSpec { group: Some(runner.runner_id.group()), ..spec("1") }).await;
    assert_eq!(store.messages().send_jobs(&runner, 10, PATIENCE, PATIENCE).await.unwrap(), 1);
    assert_eq!(store.jobs().status(&job).await.unwrap(), Some(Status::Dispatched));
    assert_eq!(store.messages().send_jobs(&runner, 10, PATIENCE, PATIENCE).await.unwrap(), 1);
    assert_eq!(store.jobs().status(&job).await.unwrap(), Some(Status::Started));
    let out: Vec<String> = redis.run(&["LRANGE", "msg_out", "0", "-1"]).await;
    assert_eq!(out, [format!("message:0:{}", LOOKED_AT + 1)]);
}

#[tokio::test]
async fn messages_and_flows_are_made_however_many_numbers_others_have() {
    let house = House::empty().await;
    for kind in ["message:12", "job:12", "flow"] {
        take(&house.redis, kind).await;
    }
    let sent = house.store.messages().send(12, &[("message", "x".to_owned())]).await.unwrap();
    assert_eq!(sent, MessageStored::Stored(LOOKED_AT + 1));
    let jobs = ["a", "b"].map(|name| NewFlowJob {
        id: JobId::random(),
        name: name.to_owned(),
        waits_for: Vec::new(),
        spec: spec("1"),
        runner: None,
    });
    let retention = hero::model::Seconds::from(PATIENCE);
    let flow = NewFlow { spec: &FlowSpec::default(), caller: 12, caller_id: "12", retention, jobs: &jobs };
    let created = house.store.flows().create(&flow).await.unwrap();
    let FlowCreated::Created(flow, numbers) = created else { panic!("{created:?}") };
    // A look that found too few numbers leaves those that it has found.
    assert_eq!(flow.0, LOOKED_AT + 2);
    assert_eq!(numbers, [LOOKED_AT + 1, LOOKED_AT + 2]);
    // None is left.
    let _: String = house.redis.run(&["SET", "hero:seq:message", "4294967295"]).await;
    let sent = house.store.messages().send(12, &[("message", "x".to_owned())]).await.unwrap();
    assert_eq!(sent, MessageStored::NoNumber);
}
