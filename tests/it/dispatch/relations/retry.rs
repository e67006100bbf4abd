//! Retries of jobs that have ended.

use hero::dispatch::Error;
use hero::model::{ErrorKind, JobId, JobSpec, Status};

use super::{after, by_hand, child_of, continuation_of, create, ended_by, fate, leaves_nothing, status};
use crate::support::{CONTEXT, House, PATIENCE, spec};

async fn retry(house: &House, id: &JobId) -> Status {
    house.dispatcher.jobs().retry(CONTEXT, id).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_error_runs_again_and_its_new_end_is_the_one_that_counts() {
    let (house, hand) = by_hand().await;
    let job = house.start(spec("1")).await;
    hand.fail(&job).await;
    assert_eq!(retry(&house, &job).await, Status::Dispatched);
    let again = house.dispatcher.jobs().job(CONTEXT, &job).await.unwrap();
    assert!(again.status == Status::Dispatched && again.finished_at.is_none() && again.output.is_none(), "{again:?}");
    let key = format!("hero:job:{job}");
    // The time of the first end may not meet the second run.
    assert_eq!(house.redis.run::<i64>(&["TTL", &key]).await, -1);
    let waiting = house.dispatcher.jobs().wait(CONTEXT, &job, PATIENCE);
    let (result, ()) = tokio::join!(waiting, hand.finish(&job));
    assert_eq!(result.unwrap().output, "1");
    let done = house.dispatcher.jobs().job(CONTEXT, &job).await.unwrap();
    assert!(done.status == Status::Finished && done.error.is_none(), "{done:?}");
    // Nobody blocks on the reply of a job that a server stored.
    assert_eq!(house.redis.run::<i64>(&["EXISTS", &format!("hero:q:reply:{job}")]).await, 0);
    assert_eq!(hand.times(&job).await, 2);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_job_runs_again() {
    let house = House::open(1).await;
    let first = house.run("40 + 2").await.unwrap();
    let status = retry(&house, &first.job_id).await;
    assert!(matches!(status, Status::Dispatched | Status::Started), "{status}");
    let second = house.dispatcher.jobs().wait(CONTEXT, &first.job_id, PATIENCE).await.unwrap();
    assert_eq!(second.output, "42");
    assert!(second.started_at > first.started_at && second.finished_at > first.finished_at, "{first:?} {second:?}");
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_an_attempt_before_the_retry_is_not_taken_for_the_new_one() {
    let redis = crate::support::Redis::start().await;
    let store = redis.store().await;
    let (late, hand) = (super::Hand::of(&store), super::Hand::of(&store));
    let id = JobId::random();
    let new = hero::store::NewJob { id: id.clone(), spec: spec("1"), start: true, waited: false, occurrence: None, flow: None };
    store.jobs().create(new).await.unwrap();
    let first = late.take(&id).await;
    store.clock().advance(std::time::Duration::from_secs(31));
    store.queues().reap(128).await.unwrap();
    hand.fail(&id).await;
    let dispatcher = crate::support::dispatcher([store.clone()], redis.directory());
    dispatcher.jobs().retry(CONTEXT, &id).await.unwrap();
    let second = hand.take(&id).await;
    assert_ne!(first, second);
    assert_eq!(late.try_finish(&id).await, None);
    assert_eq!(dispatcher.jobs().status(CONTEXT, &id).await.unwrap(), Status::Started);
    hand.finish(&id).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_job_that_has_ended_is_retried() {
    let (house, hand) = by_hand().await;
    let created = create(&house, spec("1")).await;
    let waiting = house.start(after(&[&created])).await;
    let later = Some(house.store.clock().now().plus(std::time::Duration::from_secs(3600)));
    let scheduled = house.start(JobSpec { run_at: later, ..spec("1") }).await;
    let started = house.start(spec("1")).await;
    hand.take(&started).await;
    let dispatched = house.start(spec("1")).await;
    let jobs = [
        (created, Status::Created),
        (waiting, Status::WaitingForPrerequisites),
        (scheduled, Status::Scheduled),
        (started, Status::Started),
        (dispatched, Status::Dispatched),
    ];
    for (job, expected) in jobs {
        let error = house.dispatcher.jobs().retry(CONTEXT, &job).await.unwrap_err();
        assert!(matches!(&error, Error::State { job_id, status, .. } if *job_id == job && *status == expected), "{error:?}");
        assert_eq!(status(&house, &job).await, expected);
    }
    let missing = house.dispatcher.jobs().retry(CONTEXT, &JobId::random()).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound(_)), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_retries_succeeds() {
    let (house, hand) = by_hand().await;
    let job = house.start(spec("1")).await;
    hand.fail(&job).await;
    let both = tokio::join!(house.dispatcher.jobs().retry(CONTEXT, &job), house.dispatcher.jobs().retry(CONTEXT, &job));
    assert!(both.0.is_ok() != both.1.is_ok(), "{both:?}");
    hand.finish(&job).await;
    assert_eq!((hand.take_all().await, hand.times(&job).await), (0, 2));
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_is_retried_before_its_prerequisite_is_not_lost() {
    let (house, hand) = by_hand().await;
    let bad = house.start(spec("1")).await;
    let job = house.start(after(&[&bad])).await;
    hand.fail(&bad).await;
    ended_by(&house, &job, &bad).await;
    // It may not run without what it needs; whether that refuses the retry or ends the job again is the same to its owner.
    if house.dispatcher.jobs().retry(CONTEXT, &job).await.is_ok() {
        assert_eq!(fate(&house, &job).await.kind, ErrorKind::Prerequisite);
    }
    assert_eq!((hand.take_all().await, status(&house, &job).await), (0, Status::Error));
    retry(&house, &bad).await;
    // Now there is something to wait for.
    if retry(&house, &job).await == Status::WaitingForPrerequisites {
        hand.finish(&bad).await;
        hand.finish(&job).await;
    } else {
        ended_by(&house, &job, &bad).await;
        hand.finish(&bad).await;
    }
    leaves_nothing(&house.redis).await;
}

/// The predecessor was deleted, and its relatives are not released yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_that_is_retried_does_not_bring_back_its_deleted_predecessor() {
    let redis = crate::support::Redis::start().await;
    let store = redis.store().await;
    let create = async |spec, start| {
        let id = JobId::random();
        store
            .jobs()
            .create(hero::store::NewJob { id: id.clone(), spec, start, waited: false, occurrence: None, flow: None })
            .await
            .unwrap();
        id
    };
    let predecessor = create(spec("1"), false).await;
    let continuation = create(continuation_of(&predecessor), true).await;
    create(child_of(&predecessor), true).await;
    store.jobs().delete(&predecessor).await.unwrap();
    store.jobs().stop(&continuation).await.unwrap();
    store.jobs().retry(&continuation).await.unwrap();
    assert!(store.jobs().get(&predecessor).await.unwrap().is_none());
    while store.jobs().release_relatives(128).await.unwrap() {}
    assert!(store.jobs().get(&predecessor).await.unwrap().is_none());
    super::Hand::of(&store).finish(&continuation).await;
    let left: Vec<String> = redis.run(&["KEYS", "hero:rel:*"]).await;
    assert!(left.is_empty(), "{left:?}");
}
