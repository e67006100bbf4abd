//! Retries of jobs that have ended.

use hero::dispatch::Error;
use hero::model::{ErrorKind, JobId, JobSpec, Status};

use super::{
    after, begin, by_hand, child_of, continuation_of, create, ended_by, fate, leaves_nothing, relatives, released, set_of, status,
};
use crate::support::{CONTEXT, House, PATIENCE, spec};

async fn retry(house: &House, id: &JobId) -> Status {
    house.dispatcher.retry(CONTEXT, id).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_in_error_runs_again_and_its_new_end_is_the_one_that_counts() {
    let (house, hand) = by_hand().await;
    let job = house.start(spec("1")).await;
    hand.fail(&job).await;
    assert_eq!(retry(&house, &job).await, Status::Dispatched);
    let again = house.dispatcher.job(CONTEXT, &job).await.unwrap();
    assert!(again.status == Status::Dispatched && again.finished_at.is_none() && again.output.is_none(), "{again:?}");
    let (key, reply) = (format!("hero:job:{job}"), format!("hero:q:reply:{job}"));
    // Neither the time of the first end nor its reply may meet the second run.
    assert_eq!(house.redis.run::<i64>(&["TTL", &key]).await, -1);
    assert_eq!(house.redis.run::<i64>(&["EXISTS", &reply]).await, 0);
    let waiting = house.dispatcher.wait(CONTEXT, &job, PATIENCE);
    let (result, ()) = tokio::join!(waiting, hand.finish(&job));
    assert_eq!(result.unwrap().output, "1");
    let done = house.dispatcher.job(CONTEXT, &job).await.unwrap();
    assert!(done.status == Status::Finished && done.error.is_none(), "{done:?}");
    assert_eq!(house.redis.run::<Vec<String>>(&["LRANGE", &reply, "0", "-1"]).await, ["1"]);
    assert_eq!(hand.times(&job).await, 2);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_finished_job_runs_again() {
    let house = House::open(1).await;
    let first = house.run("40 + 2").await.unwrap();
    let status = retry(&house, &first.job_id).await;
    assert!(matches!(status, Status::Dispatched | Status::Started), "{status}");
    let second = house.dispatcher.wait(CONTEXT, &first.job_id, PATIENCE).await.unwrap();
    assert_eq!(second.output, "42");
    assert!(second.started_at > first.started_at && second.finished_at > first.finished_at, "{first:?} {second:?}");
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_and_crashes_are_counted_anew() {
    let (house, hand) = by_hand().await;
    let job = house.start(JobSpec { retries: 1, ..spec("1") }).await;
    for _ in 0..3 {
        assert_eq!(hand.fail(&job).await, Status::Scheduled);
        assert_eq!(hand.fail(&job).await, Status::Error);
        assert_eq!(retry(&house, &job).await, Status::Dispatched);
    }
    hand.finish(&job).await;
    let crashes = house.start(spec("1")).await;
    for _ in 0..2 {
        hand.crash_for_good(&crashes).await;
        retry(&house, &crashes).await;
    }
    hand.finish(&crashes).await;
    let job = house.dispatcher.job(CONTEXT, &crashes).await.unwrap();
    assert_eq!((job.status, job.crashes), (Status::Finished, 0));
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
    dispatcher.retry(CONTEXT, &id).await.unwrap();
    let second = hand.take(&id).await;
    assert_ne!(first, second);
    assert_eq!(late.try_finish(&id).await, None);
    assert_eq!(dispatcher.status(CONTEXT, &id).await.unwrap(), Status::Started);
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
        let error = house.dispatcher.retry(CONTEXT, &job).await.unwrap_err();
        assert!(matches!(&error, Error::State { job_id, status, .. } if *job_id == job && *status == expected), "{error:?}");
        assert_eq!(status(&house, &job).await, expected);
    }
    let missing = house.dispatcher.retry(CONTEXT, &JobId::random()).await.unwrap_err();
    assert!(matches!(missing, Error::NotFound(_)), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_two_concurrent_retries_succeeds() {
    let (house, hand) = by_hand().await;
    let job = house.start(spec("1")).await;
    hand.fail(&job).await;
    let both = tokio::join!(house.dispatcher.retry(CONTEXT, &job), house.dispatcher.retry(CONTEXT, &job));
    assert!(both.0.is_ok() != both.1.is_ok(), "{both:?}");
    hand.finish(&job).await;
    assert_eq!((hand.take_all().await, hand.times(&job).await), (0, 2));
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_retried_joins_the_active_children_again() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    let child = house.start(child_of(&parent)).await;
    hand.finish(&parent).await;
    hand.fail(&child).await;
    released(&house.redis).await;
    assert_eq!(retry(&house, &child).await, Status::Dispatched);
    assert_eq!(relatives(&house.redis, &parent, "active").await, set_of(&[&child]));
    let continuation = create(&house, continuation_of(&parent)).await;
    assert_eq!(begin(&house, &continuation).await, Status::WaitingForPrerequisites);
    hand.finish(&child).await;
    hand.finish(&continuation).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_retried_releases_new_children_and_continuations() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    let lost = house.start(child_of(&parent)).await;
    hand.fail(&parent).await;
    ended_by(&house, &lost, &parent).await;
    released(&house.redis).await;
    assert_eq!(retry(&house, &parent).await, Status::Dispatched);
    let (child, continuation, dependent) =
        (house.start(child_of(&parent)).await, house.start(continuation_of(&parent)).await, house.start(after(&[&parent])).await);
    for waiting in [&child, &continuation, &dependent] {
        assert_eq!(status(&house, waiting).await, Status::WaitingForPrerequisites);
    }
    hand.finish(&parent).await;
    hand.finish(&dependent).await;
    hand.finish(&child).await;
    hand.finish(&continuation).await;
    // The child that ended with its parent can be had back.
    assert_eq!(retry(&house, &lost).await, Status::Dispatched);
    hand.finish(&lost).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_ended_with_its_prerequisite_runs_when_both_are_retried() {
    let (house, hand) = by_hand().await;
    let (bad, good) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let job = house.start(after(&[&bad, &good])).await;
    hand.fail(&bad).await;
    ended_by(&house, &job, &bad).await;
    hand.finish(&good).await;
    retry(&house, &bad).await;
    hand.finish(&bad).await;
    released(&house.redis).await;
    assert_eq!(status(&house, &job).await, Status::Error);
    assert_eq!(retry(&house, &job).await, Status::Dispatched);
    hand.finish(&job).await;
    assert_eq!(hand.times(&job).await, 1);
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
    if house.dispatcher.retry(CONTEXT, &job).await.is_ok() {
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

#[tokio::test(flavor = "multi_thread")]
async fn dependents_that_ran_once_do_not_run_again_with_their_prerequisite() {
    let (house, hand) = by_hand().await;
    let first = house.start(spec("1")).await;
    let (dependent, child, continuation) =
        (house.start(after(&[&first])).await, house.start(child_of(&first)).await, house.start(continuation_of(&first)).await);
    for job in [&first, &dependent, &child, &continuation] {
        hand.finish(job).await;
    }
    released(&house.redis).await;
    retry(&house, &first).await;
    hand.finish(&first).await;
    released(&house.redis).await;
    assert_eq!(hand.take_all().await, 0);
    for job in [&dependent, &child, &continuation] {
        assert_eq!((hand.times(job).await, status(&house, job).await), (1, Status::Finished));
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_job_is_retried() {
    let (house, hand) = by_hand().await;
    let created = create(&house, spec("1")).await;
    let waiting = house.start(after(&[&created])).await;
    let dispatched = house.start(spec("1")).await;
    for job in [&waiting, &created, &dispatched] {
        house.dispatcher.stop(CONTEXT, job).await.unwrap();
    }
    released(&house.redis).await;
    for job in [&created, &dispatched] {
        assert_eq!(retry(&house, job).await, Status::Dispatched);
        hand.finish(job).await;
    }
    released(&house.redis).await;
    assert_eq!(retry(&house, &waiting).await, Status::Dispatched);
    hand.finish(&waiting).await;
    leaves_nothing(&house.redis).await;
}

/// Whoever ended while it waited stands in the lists of the others still.
#[tokio::test(flavor = "multi_thread")]
async fn a_retried_job_waits_for_each_of_the_others_once() {
    let (house, hand) = by_hand().await;
    let [bad, first, second] = [house.start(spec("1")).await, house.start(spec("1")).await, house.start(spec("1")).await];
    let (parent, predecessor) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let waits = JobSpec { parent_id: Some(parent.clone()), predecessor_id: Some(predecessor.clone()), ..after(&[&bad, &first, &second]) };
    let job = house.start(waits).await;
    hand.fail(&bad).await;
    ended_by(&house, &job, &bad).await;
    retry(&house, &bad).await;
    hand.finish(&bad).await;
    released(&house.redis).await;
    assert_eq!(retry(&house, &job).await, Status::WaitingForPrerequisites);
    for other in [&first, &parent, &predecessor, &second] {
        assert_eq!(status(&house, &job).await, Status::WaitingForPrerequisites);
        hand.finish(other).await;
        released(&house.redis).await;
    }
    hand.finish(&job).await;
    assert_eq!(hand.times(&job).await, 1);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_child_that_is_retried_waits_for_its_parent_once() {
    let (house, hand) = by_hand().await;
    let (parent, first) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let child = house.start(JobSpec { prerequisites: vec![first.clone()], ..child_of(&parent) }).await;
    let continuation = house.start(continuation_of(&parent)).await;
    for _ in 0..3 {
        house.dispatcher.stop(CONTEXT, &child).await.unwrap();
        assert_eq!(retry(&house, &child).await, Status::WaitingForPrerequisites);
    }
    hand.finish(&parent).await;
    released(&house.redis).await;
    for waiting in [&child, &continuation] {
        assert_eq!(status(&house, waiting).await, Status::WaitingForPrerequisites);
    }
    hand.finish(&first).await;
    hand.finish(&child).await;
    hand.finish(&continuation).await;
    assert_eq!((hand.times(&child).await, hand.times(&continuation).await), (1, 1));
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_that_is_retried_waits_for_its_predecessor_again() {
    let (house, hand) = by_hand().await;
    let (predecessor, first) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let continuation = house.start(continuation_of(&predecessor)).await;
    house.dispatcher.stop(CONTEXT, &continuation).await.unwrap();
    assert_eq!(retry(&house, &continuation).await, Status::WaitingForPrerequisites);
    hand.finish(&predecessor).await;
    hand.finish(&continuation).await;
    // A predecessor that was closed once is waited for no more, and not when it runs again either.
    released(&house.redis).await;
    assert_eq!(retry(&house, &continuation).await, Status::Dispatched);
    hand.finish(&continuation).await;
    hand.finish(&first).await;
    assert_eq!(hand.times(&continuation).await, 2);
    leaves_nothing(&house.redis).await;
}

/// The release of the first end comes after the retry.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_taken_back_before_its_release_ends_nobody() {
    let redis = crate::support::Redis::start().await;
    let store = redis.store().await;
    let hand = super::Hand::of(&store);
    let create = async |spec| {
        let id = JobId::random();
        store
            .jobs()
            .create(hero::store::NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None })
            .await
            .unwrap();
        id
    };
    let job = create(spec("1")).await;
    let before = create(after(&[&job])).await;
    hand.fail(&job).await;
    store.jobs().retry(&job).await.unwrap();
    let behind = create(after(&[&job])).await;
    store.jobs().release_relatives(128).await.unwrap();
    for waiting in [&before, &behind] {
        assert_eq!(store.jobs().get(waiting).await.unwrap().unwrap().status, Status::WaitingForPrerequisites);
    }
    hand.finish(&job).await;
    store.jobs().release_relatives(128).await.unwrap();
    hand.finish(&before).await;
    hand.finish(&behind).await;
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
