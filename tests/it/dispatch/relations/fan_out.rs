//! Redis is never busy for long, whatever the number of waiting jobs.

use futures_util::StreamExt as _;
use hero::model::{JobId, JobSpec, Status};

use super::{after, by_hand, child_of, continuation_of, create, ended_by, released, status};
use crate::support::{CONTEXT, House, Redis, spec, until};

const MANY: usize = 10_000;

/// Starts as many jobs like this one.
async fn start_many(house: &House, spec: &JobSpec) -> Vec<JobId> {
    let jobs = (0..MANY).map(|_| {
        let (id, spec) = (JobId::random(), spec.clone());
        let new = hero::store::NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None };
        async move {
            house.store.jobs().create(new).await.unwrap();
            id
        }
    });
    // On a busy machine all at once would not be through in the time that one call has.
    futures_util::stream::iter(jobs).buffered(500).collect().await
}

async fn watch(redis: &Redis) {
    let _: () = redis.run(&["CONFIG", "SET", "slowlog-max-len", "100000"]).await;
    let _: () = redis.run(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]).await;
}

/// The number of calls of the function that releases relatives.
async fn releases(redis: &Redis) -> usize {
    let _: () = redis.run(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]).await;
    let entries: Vec<(u64, u64, u64, Vec<String>, String, String)> = redis.run(&["SLOWLOG", "GET", "100000"]).await;
    let is_release = |words: &[String]| words[0].eq_ignore_ascii_case("FCALL") && words[1].ends_with("_release_relatives");
    entries.iter().filter(|(_, _, _, words, _, _)| is_release(words)).count()
}

/// No call releases more than 64 relatives, so that none holds Redis for long. How long is for `hero bench` to say: Redis measures by the clock on
/// the wall, and on a busy machine it is not always its turn.
async fn were_released_in_steps(redis: &Redis, relatives: usize) {
    let calls = releases(redis).await;
    // A job counts as one of the 128 that a call may release.
    assert!(calls >= relatives / 128, "{relatives} relatives were released by {calls} calls");
}

/// Waits until this number of jobs are in the queue, as long as it grows.
async fn queued(house: &House, expected: usize) {
    let mut before = 0;
    while before < expected {
        before = until(&format!("more than {before} of {expected} jobs in the queue"), || async {
            let length: usize = house.redis.run(&["LLEN", "hero:q:work:type:osis"]).await;
            (length > before).then_some(length)
        })
        .await;
    }
    assert_eq!(before, expected);
}

async fn how_many_are(house: &House, jobs: &[JobId], expected: Status) -> usize {
    let mut count = 0;
    for job in jobs {
        count += usize::from(status(house, job).await == expected);
    }
    count
}

/// Starts ten thousand relatives of a job, ends it, and expects that they are dispatched in steps. Gives the job.
async fn dispatched_in_steps(of: impl Fn(&JobId) -> JobSpec, end: Status) -> (House, JobId) {
    let (house, hand) = by_hand().await;
    watch(&house.redis).await;
    let first = house.start(spec("1")).await;
    let relatives = start_many(&house, &of(&first)).await;
    match end {
        Status::Error => assert_eq!(hand.fail(&first).await, end),
        _ => hand.finish(&first).await,
    }
    queued(&house, MANY).await;
    released(&house.redis).await;
    were_released_in_steps(&house.redis, MANY).await;
    assert_eq!(how_many_are(&house, &relatives, Status::Dispatched).await, MANY);
    (house, first)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_dependents_are_dispatched_in_steps() {
    dispatched_in_steps(|first| after(&[first]), Status::Finished).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_children_are_dispatched_in_steps() {
    let (house, parent) = dispatched_in_steps(child_of, Status::Finished).await;
    let continuation = house.start(continuation_of(&parent)).await;
    let active: usize = house.redis.run(&["SCARD", &format!("hero:rel:{parent}:active")]).await;
    assert_eq!((active, status(&house, &continuation).await), (MANY, Status::WaitingForPrerequisites));
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_continuations_are_dispatched_in_steps() {
    dispatched_in_steps(continuation_of, Status::Error).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_dependents_end_in_steps_when_theirs_is_stopped() {
    let (house, _) = by_hand().await;
    let house = &house;
    watch(&house.redis).await;
    let first = house.start(spec("1")).await;
    let dependents = start_many(house, &after(&[&first])).await;
    house.dispatcher.jobs().stop(CONTEXT, &first).await.unwrap();
    ended_by(house, dependents.last().unwrap(), &first).await;
    released(&house.redis).await;
    were_released_in_steps(&house.redis, MANY).await;
    assert_eq!(how_many_are(house, &dependents, Status::Error).await, MANY);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_ends_a_chain_of_a_thousand_in_steps() {
    let (house, hand) = by_hand().await;
    let house = &house;
    watch(&house.redis).await;
    let first = house.start(spec("1")).await;
    let mut chain = vec![first];
    for at in 1..1_000 {
        let next = create(house, after(&[chain.last().unwrap()])).await;
        // Some were started and some were not.
        if at % 3 != 0 {
            super::begin(house, &next).await;
        }
        chain.push(next);
    }
    assert_eq!(hand.fail(&chain[0]).await, Status::Error);
    ended_by(house, chain.last().unwrap(), &chain[998]).await;
    were_released_in_steps(&house.redis, 1_000).await;
    assert_eq!(how_many_are(house, &chain, Status::Error).await, 1_000);
}
