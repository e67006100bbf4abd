//! Children wait for their parent's script, and a parent closes only after all children. Continuations run after their
//! predecessor and all its descendants have ended.

use hero::model::{JobId, JobSpec, Status};

use super::{
    begin, by_hand, child_of, continuation_of, create, ended_by, history, leaves_nothing, list_of, nobody, relatives, released, set_of,
    status, when,
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
async fn a_child_that_is_run_and_waited_for_waits_for_its_parent() {
    let house = House::open(2).await;
    let parent = house.start(spec("sleep(0.2)")).await;
    let child = house.dispatcher.jobs().run_and_wait(JobSpec { script: "2".into(), ..child_of(&parent) }, PATIENCE).await.unwrap();
    let history = history(&house.redis).await;
    assert!(when(&history, &parent, Status::Finished) < when(&history, &child.job_id, Status::Started));
    // The way of a child of a dead parent may not lead past its parent's active set either.
    let late = house.dispatcher.jobs().run_and_wait(child_of(&parent), PATIENCE).await.unwrap();
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
async fn continuations_wait_for_their_predecessor_and_all_its_descendants() {
    let (house, hand) = by_hand().await;
    let predecessor = create(&house, spec("1")).await;
    let continuations = [create(&house, continuation_of(&predecessor)).await, create(&house, continuation_of(&predecessor)).await];
    for continuation in &continuations {
        assert_eq!(begin(&house, continuation).await, Status::WaitingForPrerequisites);
    }
    assert_eq!(relatives(&house.redis, &predecessor, "onComplete").await, list_of(&[&continuations[0], &continuations[1]]));
    begin(&house, &predecessor).await;
    let child = house.start(child_of(&predecessor)).await;
    let grandchild = house.start(child_of(&child)).await;
    for descendant in [&predecessor, &child, &grandchild] {
        for continuation in &continuations {
            assert_eq!(status(&house, continuation).await, Status::WaitingForPrerequisites);
        }
        hand.finish(descendant).await;
        released(&house.redis).await;
    }
    for continuation in &continuations {
        house.is(continuation, Status::Dispatched).await;
    }
    for continuation in &continuations {
        hand.finish(continuation).await;
    }
    for what in ["children", "active", "onComplete", "dependents"] {
        assert_eq!(relatives(&house.redis, &predecessor, what).await, nobody());
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_family_with_a_continuation_each_closes_from_the_inside() {
    let house = House::open(2).await;
    let mut line: Vec<(JobId, JobId)> = Vec::new();
    for generation in 0..10 {
        let job = match line.last() {
            None => create(&house, spec("sleep(0.1)")).await,
            Some((parent, _)) => house.start(child_of(parent)).await,
        };
        // The continuation of each is a child of the generation before, so that the one before waits for it, too.
        let parent_id = (generation > 0).then(|| line[generation - 1].0.clone());
        let continuation = house.start(JobSpec { parent_id, ..continuation_of(&job) }).await;
        line.push((job, continuation));
    }
    begin(&house, &line[0].0).await;
    house.dispatcher.jobs().wait(CONTEXT, &line[0].1, PATIENCE).await.unwrap();
    let history = history(&house.redis).await;
    for pair in line.windows(2) {
        assert!(when(&history, &pair[1].1, Status::Finished) < when(&history, &pair[0].1, Status::Started));
        assert!(when(&history, &pair[0].0, Status::Finished) < when(&history, &pair[1].0, Status::Started));
    }
    leaves_nothing(&house.redis).await;
}
