//! Children wait for their parent's script, and a parent closes only after all children.

use hero::model::{ErrorKind, JobId, JobSpec, Status};

use super::{
    begin, by_hand, child_of, continuation_of, create, ended_by, fate, history, leaves_nothing, list_of, nobody, relatives, released,
    set_of, status, when,
};
use crate::support::{CONTEXT, House, PATIENCE, spec};

#[tokio::test(flavor = "multi_thread")]
async fn children_wait_until_the_script_of_their_parent_has_returned() {
    let (house, hand) = by_hand().await;
    let parent = create(&house, spec("1")).await;
    let early = house.start(child_of(&parent)).await;
    begin(&house, &parent).await;
    hand.take(&parent).await;
    let late = create(&house, child_of(&parent)).await;
    assert_eq!(begin(&house, &late).await, Status::WaitingForPrerequisites);
    assert_eq!(status(&house, &early).await, Status::WaitingForPrerequisites);
    assert_eq!(relatives(&house.redis, &parent, "children").await, list_of(&[&early, &late]));
    assert_eq!(relatives(&house.redis, &parent, "active").await, nobody());
    hand.finish(&parent).await;
    for child in [&early, &late] {
        house.is(child, Status::Dispatched).await;
    }
    assert_eq!(relatives(&house.redis, &parent, "children").await, nobody());
    assert_eq!(relatives(&house.redis, &parent, "active").await, set_of(&[&early, &late]));
    hand.finish(&early).await;
    released(&house.redis).await;
    assert_eq!(relatives(&house.redis, &parent, "active").await, set_of(&[&late]));
    hand.finish(&late).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn children_start_in_the_order_they_were_started() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    hand.take(&parent).await;
    let mut children = Vec::new();
    for _ in 0..200 {
        children.push(house.start(child_of(&parent)).await);
    }
    hand.finish(&parent).await;
    hand.take(&children[199]).await;
    let history = history(&house.redis).await;
    let started: Vec<usize> = children.iter().map(|child| when(&history, child, Status::Started)).collect();
    assert!(started.is_sorted(), "{started:?}");
    hand.finish_all().await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_of_a_dead_parent_runs_at_once() {
    let (house, hand) = by_hand().await;
    let (good, bad) = (house.start(spec("1")).await, house.start(spec("1")).await);
    // A child that nobody started is none yet: it holds nobody up.
    let created = create(&house, child_of(&good)).await;
    let continuation = house.start(continuation_of(&good)).await;
    hand.finish(&good).await;
    hand.finish(&continuation).await;
    hand.fail(&bad).await;
    released(&house.redis).await;
    let mut children = Vec::new();
    assert_eq!(begin(&house, &created).await, Status::Dispatched);
    children.push(created);
    for parent in [&good, &bad] {
        let child = create(&house, child_of(parent)).await;
        assert_eq!(begin(&house, &child).await, Status::Dispatched);
        children.push(child);
    }
    assert_eq!(relatives(&house.redis, &good, "active").await, set_of(&[&children[0], &children[1]]));
    assert_eq!(relatives(&house.redis, &bad, "active").await, set_of(&[&children[2]]));
    for child in &children {
        hand.finish(child).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_is_run_and_waited_for_waits_for_its_parent() {
    let house = House::open(2).await;
    let parent = house.start(spec("sleep(0.2)")).await;
    let child = house.dispatcher.run_and_wait(JobSpec { script: "2".into(), ..child_of(&parent) }, PATIENCE).await.unwrap();
    let history = history(&house.redis).await;
    assert!(when(&history, &parent, Status::Finished) < when(&history, &child.job_id, Status::Started));
    // The way of a child of a dead parent may not lead past its parent's active set either.
    let late = house.dispatcher.run_and_wait(child_of(&parent), PATIENCE).await.unwrap();
    assert_eq!(late.output, "1");
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_in_error_ends_its_waiting_children_and_theirs() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    let children = [house.start(child_of(&parent)).await, house.start(child_of(&parent)).await];
    let grandchild = house.start(child_of(&children[0])).await;
    let continuation = house.start(continuation_of(&parent)).await;
    assert_eq!(hand.fail(&parent).await, Status::Error);
    for child in &children {
        ended_by(&house, child, &parent).await;
    }
    ended_by(&house, &grandchild, &children[0]).await;
    hand.finish(&continuation).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_tried_again_keeps_its_children_waiting() {
    let (house, hand) = by_hand().await;
    let parent = house.start(JobSpec { retries: 1, ..spec("1") }).await;
    let child = house.start(child_of(&parent)).await;
    assert_eq!(hand.fail(&parent).await, Status::Scheduled);
    released(&house.redis).await;
    let later = house.start(child_of(&parent)).await;
    for child in [&child, &later] {
        assert_eq!(status(&house, child).await, Status::WaitingForPrerequisites);
    }
    for job in [&parent, &child, &later] {
        hand.finish(job).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_waits_for_its_parent_and_for_its_prerequisites() {
    let (house, hand) = by_hand().await;
    let (parent, first) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let child = house.start(JobSpec { prerequisites: vec![first.clone()], ..child_of(&parent) }).await;
    let continuation = house.start(continuation_of(&parent)).await;
    hand.finish(&parent).await;
    released(&house.redis).await;
    for job in [&child, &continuation] {
        assert_eq!(status(&house, job).await, Status::WaitingForPrerequisites);
    }
    assert_eq!(relatives(&house.redis, &parent, "active").await, set_of(&[&child]));
    for job in [&first, &child, &continuation] {
        hand.finish(job).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_whose_prerequisite_fails_holds_nobody_up() {
    let (house, hand) = by_hand().await;
    for parent_first in [true, false] {
        let (parent, first) = (house.start(spec("1")).await, house.start(spec("1")).await);
        let child = house.start(JobSpec { prerequisites: vec![first.clone()], ..child_of(&parent) }).await;
        let continuation = house.start(continuation_of(&parent)).await;
        if parent_first {
            hand.finish(&parent).await;
            released(&house.redis).await;
        }
        hand.fail(&first).await;
        ended_by(&house, &child, &first).await;
        released(&house.redis).await;
        if !parent_first {
            assert_eq!(status(&house, &continuation).await, Status::WaitingForPrerequisites);
            hand.finish(&parent).await;
        }
        hand.finish(&continuation).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn generations_run_one_after_the_other_and_the_continuation_last() {
    let house = House::open(2).await;
    let first = create(&house, spec("sleep(0.1)")).await;
    let continuation = house.start(continuation_of(&first)).await;
    let mut generations: Vec<Vec<JobId>> = vec![vec![first.clone()]];
    for _ in 1..10 {
        let parents = generations.last().unwrap().clone();
        let mut next = Vec::new();
        for parent in parents.iter().take(2) {
            for _ in 0..2 {
                next.push(house.start(child_of(parent)).await);
            }
        }
        generations.push(next);
    }
    begin(&house, &first).await;
    house.dispatcher.wait(CONTEXT, &continuation, PATIENCE).await.unwrap();
    let history = history(&house.redis).await;
    let began = when(&history, &continuation, Status::Started);
    for (generation, members) in generations.iter().enumerate().skip(1) {
        for (at, member) in members.iter().enumerate() {
            let parent = &generations[generation - 1][at / 2];
            assert!(when(&history, parent, Status::Finished) < when(&history, member, Status::Started));
            assert!(when(&history, member, Status::Finished) < began);
        }
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_child_may_have_children_and_continuations_of_its_own() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    let (child, continuation) = (house.start(child_of(&parent)).await, house.start(continuation_of(&parent)).await);
    hand.finish(&parent).await;
    hand.take(&child).await;
    let grandchild = house.start(child_of(&child)).await;
    let childs_continuation = house.start(JobSpec { predecessor_id: Some(child.clone()), ..child_of(&parent) }).await;
    hand.finish(&child).await;
    house.is(&grandchild, Status::Dispatched).await;
    released(&house.redis).await;
    for waiting in [&continuation, &childs_continuation] {
        assert_eq!(status(&house, waiting).await, Status::WaitingForPrerequisites);
    }
    hand.finish(&grandchild).await;
    hand.take(&childs_continuation).await;
    released(&house.redis).await;
    assert_eq!(status(&house, &continuation).await, Status::WaitingForPrerequisites);
    hand.finish(&childs_continuation).await;
    hand.finish(&continuation).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_parent_ends_its_children_whether_it_ran_or_not() {
    let house = House::open(1).await;
    let running = house.start(spec("loop {}")).await;
    house.is(&running, Status::Started).await;
    let queued = house.start(spec("1")).await;
    let mut relations = Vec::new();
    for parent in [&queued, &running] {
        let (child, continuation) = (house.start(child_of(parent)).await, house.start(continuation_of(parent)).await);
        house.dispatcher.stop(CONTEXT, parent).await.unwrap();
        relations.push((parent, child, continuation));
    }
    for (parent, child, continuation) in relations {
        ended_by(&house, &child, parent).await;
        house.is(&continuation, Status::Finished).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_child_holds_nobody_up() {
    let (house, hand) = by_hand().await;
    for parent_first in [true, false] {
        let parent = house.start(spec("1")).await;
        let (child, continuation) = (house.start(child_of(&parent)).await, house.start(continuation_of(&parent)).await);
        let grandchild = house.start(child_of(&child)).await;
        if parent_first {
            hand.finish(&parent).await;
            house.is(&child, Status::Dispatched).await;
        }
        house.dispatcher.stop(CONTEXT, &child).await.unwrap();
        assert_eq!(fate(&house, &child).await.kind, ErrorKind::Stopped);
        ended_by(&house, &grandchild, &child).await;
        if !parent_first {
            released(&house.redis).await;
            assert_eq!(status(&house, &continuation).await, Status::WaitingForPrerequisites);
            hand.finish(&parent).await;
        }
        hand.finish(&continuation).await;
        assert_eq!(hand.times(&child).await, 0);
    }
    leaves_nothing(&house.redis).await;
}
