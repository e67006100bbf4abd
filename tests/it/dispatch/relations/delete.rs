//! Deleting a job deletes its relations, and no job waits for it.

use hero::dispatch::Error;
use hero::model::{JobId, JobSpec, Status};

use super::{after, begin, by_hand, child_of, continuation_of, create, ended_by, leaves_nothing, nobody, relatives, released, status};
use crate::support::{CONTEXT, House, spec, until};

async fn delete(house: &House, id: &JobId) {
    house.dispatcher.delete(CONTEXT, id).await.unwrap();
    let gone = house.dispatcher.status(CONTEXT, id).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound(_)), "{gone:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prerequisite_that_is_deleted_before_it_finished_ends_its_dependents() {
    let (house, hand) = by_hand().await;
    let created = create(&house, spec("1")).await;
    let waiting = house.start(after(&[&created])).await;
    let dispatched = house.start(spec("1")).await;
    for deleted in [&waiting, &created, &dispatched] {
        let dependent = house.start(after(&[deleted])).await;
        let next = house.start(after(&[&dependent])).await;
        delete(&house, deleted).await;
        ended_by(&house, &dependent, deleted).await;
        ended_by(&house, &next, &dependent).await;
    }
    assert_eq!(hand.take_all().await, 0);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waited_for_a_job_that_was_deleted_is_told_so() {
    let (house, _hand) = by_hand().await;
    let (first, parent) = (create(&house, spec("1")).await, house.start(spec("1")).await);
    let dependent = house.start(after(&[&first])).await;
    let child = house.start(child_of(&parent)).await;
    let next = house.start(after(&[&dependent])).await;
    for (deleted, waits, text) in
        [(&first, &dependent, format!("prerequisite {first} was deleted")), (&parent, &child, format!("parent {parent} was deleted"))]
    {
        delete(&house, deleted).await;
        let error = super::fate(&house, waits).await;
        assert_eq!(error.message, text);
        let explained = house.dispatcher.explain(CONTEXT, waits).await.unwrap();
        assert_eq!(explained.message, format!("it has ended without being run: {text}"));
    }
    // That one ended, and was not deleted.
    assert_eq!(super::fate(&house, &next).await.message, format!("prerequisite {dependent} ended in error"));
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_job_that_a_foreign_program_deletes_is_told_so() {
    let (house, _hand) = by_hand().await;
    let first = create(&house, spec("1")).await;
    let dependent = house.start(after(&[&first])).await;
    let _: i64 = house.redis.run(&["DEL", &format!("hero:job:{first}")]).await;
    let explained = house.dispatcher.explain(CONTEXT, &dependent).await.unwrap();
    assert_eq!(explained.message, format!("job {first}, which it waits for, was deleted; that ends it in a moment, else stop_job does"));
    // As is said there.
    assert_eq!(house.dispatcher.stop(CONTEXT, &dependent).await.unwrap(), Status::Error);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_finished_stays_finished_for_its_dependents_when_it_is_deleted() {
    let (house, hand) = by_hand().await;
    let (first, second) = (house.start(spec("1")).await, create(&house, spec("1")).await);
    let job = house.start(after(&[&first, &second])).await;
    hand.finish(&first).await;
    // Before or after its release: the end is what counts.
    delete(&house, &first).await;
    begin(&house, &second).await;
    hand.finish(&second).await;
    hand.finish(&job).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependent_that_is_deleted_is_forgotten() {
    let (house, hand) = by_hand().await;
    let first = house.start(spec("1")).await;
    let (deleted, other) = (house.start(after(&[&first])).await, house.start(after(&[&first])).await);
    delete(&house, &deleted).await;
    hand.finish(&first).await;
    hand.finish(&other).await;
    released(&house.redis).await;
    assert_eq!(house.redis.run::<i64>(&["EXISTS", &format!("hero:job:{deleted}")]).await, 0);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_gets_the_id_of_a_deleted_one_does_not_get_its_relations() {
    let (house, hand) = by_hand().await;
    let first = house.start(spec("1")).await;
    let gate = create(&house, spec("1")).await;
    let deleted = house.start(after(&[&first])).await;
    delete(&house, &deleted).await;
    let again = house.start(super::named(&deleted, after(&[&gate]))).await;
    hand.finish(&first).await;
    released(&house.redis).await;
    assert_eq!(status(&house, &again).await, Status::WaitingForPrerequisites);
    begin(&house, &gate).await;
    hand.finish(&gate).await;
    hand.finish(&again).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_deleted_holds_nobody_up() {
    let (house, hand) = by_hand().await;
    for parent_first in [true, false] {
        let parent = house.start(spec("1")).await;
        let (child, continuation) = (house.start(child_of(&parent)).await, house.start(continuation_of(&parent)).await);
        let (grandchild, childs_continuation) = (house.start(child_of(&child)).await, house.start(continuation_of(&child)).await);
        if parent_first {
            hand.finish(&parent).await;
            house.is(&child, Status::Dispatched).await;
        }
        delete(&house, &child).await;
        hand.finish(&childs_continuation).await;
        ended_by(&house, &grandchild, &child).await;
        if !parent_first {
            hand.finish(&parent).await;
        }
        hand.finish(&continuation).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_deleted_before_it_ran_ends_its_children_and_frees_its_continuations() {
    let (house, hand) = by_hand().await;
    let grandparent = house.start(spec("1")).await;
    let parent = house.start(child_of(&grandparent)).await;
    let (child, continuation, last) = (
        house.start(child_of(&parent)).await,
        house.start(continuation_of(&parent)).await,
        house.start(continuation_of(&grandparent)).await,
    );
    delete(&house, &parent).await;
    ended_by(&house, &child, &parent).await;
    hand.finish(&continuation).await;
    hand.finish(&grandparent).await;
    hand.finish(&last).await;
    for what in ["children", "active", "onComplete", "dependents"] {
        assert_eq!(relatives(&house.redis, &parent, what).await, nobody());
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_deleted_while_its_children_run_still_has_continuations() {
    let (house, hand) = by_hand().await;
    let grandparent = house.start(spec("1")).await;
    let parent = house.start(child_of(&grandparent)).await;
    let (child, continuation, last) = (
        house.start(child_of(&parent)).await,
        house.start(continuation_of(&parent)).await,
        house.start(continuation_of(&grandparent)).await,
    );
    hand.finish(&grandparent).await;
    hand.finish(&parent).await;
    hand.take(&child).await;
    released(&house.redis).await;
    // Deleting may be refused while there are children, but it may not lose anybody.
    let deleted = house.dispatcher.delete(CONTEXT, &parent).await;
    assert!(matches!(deleted, Ok(()) | Err(Error::State { .. })), "{deleted:?}");
    for job in [&child, &continuation, &last] {
        hand.finish(job).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_is_not_deleted_and_keeps_its_relations() {
    let (house, hand) = by_hand().await;
    let job = house.start(spec("1")).await;
    let (dependent, continuation) = (house.start(after(&[&job])).await, house.start(continuation_of(&job)).await);
    hand.take(&job).await;
    let refused = house.dispatcher.delete(CONTEXT, &job).await.unwrap_err();
    assert!(matches!(refused, Error::State { status: Status::Started, .. }), "{refused:?}");
    for next in [&job, &dependent, &continuation] {
        hand.finish(next).await;
    }
    leaves_nothing(&house.redis).await;
}

/// Everyone in a family, in every role, is taken away once.
#[tokio::test(flavor = "multi_thread")]
async fn removing_a_job_leaves_no_relative_waiting() {
    let house = House::open(2).await;
    let mut families = Vec::new();
    for role in 0..7 {
        for stop in [true, false] {
            let gate = create(&house, spec("1")).await;
            let parent = house.start(after(&[&gate])).await;
            let child = house.start(child_of(&parent)).await;
            let grandchild = house.start(JobSpec { prerequisites: vec![parent.clone()], ..child_of(&child) }).await;
            let continuation = house.start(JobSpec { predecessor_id: Some(parent.clone()), ..after(&[&gate]) }).await;
            let continuations_child = house.start(child_of(&continuation)).await;
            let dependent = house.start(after(&[&continuation, &child])).await;
            let family = [gate, parent, child, grandchild, continuation, continuations_child, dependent];
            if stop {
                house.dispatcher.stop(CONTEXT, &family[role]).await.unwrap();
            } else {
                delete(&house, &family[role]).await;
            }
            // The gate itself may be the one that is gone.
            drop(house.dispatcher.start(CONTEXT, &family[0]).await);
            families.push((role, stop, family));
        }
    }
    for (role, stop, family) in &families {
        for (member, id) in family.iter().enumerate() {
            until(&format!("the end of {member} without {role} (stop: {stop})"), || async {
                match house.dispatcher.status(CONTEXT, id).await {
                    Ok(status) => status.is_final().then_some(()),
                    Err(_) => Some(()),
                }
            })
            .await;
        }
    }
    for (role, stop, family) in &families {
        let mut ends = Vec::new();
        for (member, id) in family.iter().enumerate() {
            if member != *role {
                ends.push((member, status(&house, id).await == Status::Finished));
            }
        }
        // Who runs without the one that is gone.
        let runs: &[usize] = match role {
            0 => &[],
            1 => &[0, 4, 5],
            2 => &[0, 1, 4, 5],
            3 => &[0, 1, 2, 4, 5, 6],
            4 => &[0, 1, 2, 3],
            5 => &[0, 1, 2, 3, 4, 6],
            _ => &[0, 1, 2, 3, 4, 5],
        };
        for (member, finished) in ends {
            assert_eq!(finished, runs.contains(&member), "{member} without {role} (stop: {stop})");
        }
    }
    leaves_nothing(&house.redis).await;
}
