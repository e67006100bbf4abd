//! A waiting job does not run: its place in a queue does not matter, its time does.

use std::sync::Arc;
use std::time::Duration;

use hero::model::{JobId, JobSpec, Status, Timestamp};

use super::{after, begin, by_hand, child_of, continuation_of, create, fate, leaves_nothing, released, status};
use crate::support::{House, spec, until};

fn soon(house: &House, millis: u64) -> Option<Timestamp> {
    Some(house.store.clock().now().plus(Duration::from_millis(millis)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_job_is_not_taken_from_wherever_it_was_pushed() {
    let (house, hand) = by_hand().await;
    let first = create(&house, spec("1")).await;
    let (parent, child, continuation) = {
        let parent = create(&house, spec("1")).await;
        (parent.clone(), house.start(child_of(&parent)).await, house.start(continuation_of(&parent)).await)
    };
    let job = house.start(after(&[&first])).await;
    for _ in 0..3 {
        for waiting in [&job, &child, &continuation] {
            let _: i64 = house.redis.run(&["LPUSH", "hero:q:work:type:osis", waiting.as_str()]).await;
        }
        assert_eq!(hand.take_all().await, 0);
    }
    for waiting in [&job, &child, &continuation] {
        assert_eq!(status(&house, waiting).await, Status::WaitingForPrerequisites);
    }
    begin(&house, &first).await;
    begin(&house, &parent).await;
    for next in [&first, &job, &parent, &child, &continuation] {
        hand.finish(next).await;
        assert_eq!(hand.times(next).await, 1);
    }
    assert_eq!(hand.take_all().await, 0);
    leaves_nothing(&house.redis).await;
}

/// A foreign dispatcher starts what ours created.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_a_foreign_program_starts_waits_all_the_same() {
    let (house, hand) = by_hand().await;
    let first = create(&house, spec("1")).await;
    let parent = create(&house, spec("1")).await;
    let waiting = house.start(after(&[&first])).await;
    let created = create(&house, after(&[&first])).await;
    let child = create(&house, child_of(&parent)).await;
    let continuation = create(&house, continuation_of(&parent)).await;
    for job in [&waiting, &created, &child, &continuation] {
        let _: i64 = house.redis.run(&["HSET", &format!("hero:job:{job}"), "status", "dispatched"]).await;
        let _: i64 = house.redis.run(&["LPUSH", "hero:q:work:type:osis", job.as_str()]).await;
    }
    assert_eq!(hand.take_all().await, 0);
    for job in [&waiting, &created, &child, &continuation] {
        assert_eq!(status(&house, job).await, Status::WaitingForPrerequisites);
    }
    begin(&house, &first).await;
    begin(&house, &parent).await;
    for job in [&first, &waiting, &created, &parent, &child, &continuation] {
        hand.finish(job).await;
        assert_eq!(hand.times(job).await, 1);
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_time_comes_first_waits_for_its_prerequisites() {
    let (house, hand) = by_hand().await;
    let first = house.start(spec("1")).await;
    let parent = create(&house, spec("1")).await;
    let job = house.start(JobSpec { run_at: soon(&house, 300), ..after(&[&first]) }).await;
    let child = house.start(JobSpec { run_at: soon(&house, 300), ..child_of(&parent) }).await;
    let continuation = house.start(JobSpec { run_at: soon(&house, 300), ..continuation_of(&parent) }).await;
    for waiting in [&job, &child, &continuation] {
        house.is(waiting, Status::WaitingForPrerequisites).await;
    }
    begin(&house, &parent).await;
    for next in [&first, &job, &parent, &child, &continuation] {
        hand.finish(next).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_prerequisites_finish_first_waits_for_its_time() {
    let (house, hand) = by_hand().await;
    let (first, parent) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let due = soon(&house, 2_000);
    let job = house.start(JobSpec { run_at: due, ..after(&[&first]) }).await;
    let child = house.start(JobSpec { run_at: due, ..child_of(&parent) }).await;
    let continuation = house.start(JobSpec { run_at: due, ..continuation_of(&first) }).await;
    hand.finish(&first).await;
    hand.finish(&parent).await;
    released(&house.redis).await;
    for job in [&job, &child, &continuation] {
        hand.take(job).await;
        let started = house.dispatcher.job(crate::support::CONTEXT, job).await.unwrap().started_at.unwrap();
        assert!(started >= due.unwrap(), "{started} is before {}", due.unwrap());
        hand.finish(job).await;
        assert_eq!(hand.times(job).await, 1);
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_job_ends_with_its_prerequisite_and_does_not_come_back_when_it_is_due() {
    let (house, hand) = by_hand().await;
    let first = house.start(spec("1")).await;
    let job = house.start(JobSpec { run_at: soon(&house, 1_000), ..after(&[&first]) }).await;
    hand.fail(&first).await;
    fate(&house, &job).await;
    // Somebody else's time comes after it, so its own has come.
    let later = house.start(JobSpec { run_at: soon(&house, 1_100), ..spec("1") }).await;
    hand.finish(&later).await;
    assert_eq!((hand.times(&job).await, status(&house, &job).await), (0, Status::Error));
    leaves_nothing(&house.redis).await;
}

/// A link that looked before the end and wrote after it would be waited for for ever.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_linked_while_its_prerequisite_ends_is_released_or_not_blocked() {
    let (house, hand) = by_hand().await;
    let hand = Arc::new(hand);
    let other = house.redis.store().await;
    let mut waiting: Vec<JobId> = Vec::new();
    for round in 0..100 {
        let first = house.start(spec("1")).await;
        hand.take(&first).await;
        let linking = async {
            let mut ids = Vec::new();
            for spec in [after(&[&first]), child_of(&first), continuation_of(&first), after(&[&first])] {
                let id = JobId::random();
                let new = hero::store::NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None };
                // The other server has its own connection, so that Redis alone decides who is first.
                other.jobs().create(new).await.unwrap();
                ids.push(id);
            }
            ids
        };
        let ending = async { if round % 2 == 0 { hand.finish(&first).await } else { assert_eq!(hand.fail(&first).await, Status::Error) } };
        let (ids, ()) = tokio::join!(linking, ending);
        waiting.extend(ids);
    }
    until("the end of all", || async {
        hand.take_all().await;
        hand.finish_all().await;
        let mut open = 0;
        for id in &waiting {
            open += usize::from(!status(&house, id).await.is_final());
        }
        (open == 0).then_some(())
    })
    .await;
    leaves_nothing(&house.redis).await;
}
