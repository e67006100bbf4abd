//! Continuations run after their predecessor and all its descendants have ended, with or without errors.

use hero::model::{JobId, JobSpec, Status};

use super::{
    begin, by_hand, child_of, continuation_of, create, history, leaves_nothing, list_of, nobody, relatives, released, set_of, status, when,
};
use crate::support::{CONTEXT, House, PATIENCE, spec};

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
async fn continuations_run_however_their_predecessor_ended() {
    let (house, hand) = by_hand().await;
    let jobs = [house.start(spec("1")).await, house.start(spec("1")).await, house.start(spec("1")).await, house.start(spec("1")).await];
    let [finished, failed, crashed, stopped] = &jobs;
    let mut continuations = Vec::new();
    for job in &jobs {
        continuations.push(house.start(continuation_of(job)).await);
    }
    house.dispatcher.stop(CONTEXT, stopped).await.unwrap();
    hand.finish(finished).await;
    hand.fail(failed).await;
    hand.crash_for_good(crashed).await;
    for continuation in &continuations {
        hand.finish(continuation).await;
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chain_of_ten_continuations_runs_in_order_also_through_errors() {
    let house = House::open(2).await;
    let mut chain = vec![create(&house, spec("sleep(0.1)")).await];
    for number in 1..10 {
        let script = if number % 3 == 0 { "throw \"no\"" } else { "1" };
        chain.push(house.start(JobSpec { script: script.into(), ..continuation_of(chain.last().unwrap()) }).await);
    }
    begin(&house, &chain[0]).await;
    house.is(&chain[9], Status::Error).await;
    let history = history(&house.redis).await;
    for (at, pair) in chain.windows(2).enumerate() {
        let end = if at % 3 == 0 && at > 0 { Status::Error } else { Status::Finished };
        assert!(when(&history, &pair[0], end) < when(&history, &pair[1], Status::Started));
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_of_a_closed_predecessor_runs_at_once_and_of_an_open_one_does_not() {
    let (house, hand) = by_hand().await;
    let predecessor = house.start(spec("1")).await;
    hand.finish(&predecessor).await;
    released(&house.redis).await;
    let at_once = create(&house, continuation_of(&predecessor)).await;
    assert_eq!(begin(&house, &at_once).await, Status::Dispatched);
    // The predecessor is open again while it has a child.
    let child = house.start(child_of(&predecessor)).await;
    assert_eq!(relatives(&house.redis, &predecessor, "active").await, set_of(&[&child]));
    let waits = create(&house, continuation_of(&predecessor)).await;
    assert_eq!(begin(&house, &waits).await, Status::WaitingForPrerequisites);
    hand.finish(&at_once).await;
    hand.finish(&child).await;
    hand.finish(&waits).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_that_is_created_before_and_started_after_the_end_runs_at_once() {
    let (house, hand) = by_hand().await;
    let predecessor = house.start(spec("1")).await;
    let continuation = create(&house, continuation_of(&predecessor)).await;
    hand.finish(&predecessor).await;
    released(&house.redis).await;
    assert_eq!(begin(&house, &continuation).await, Status::Dispatched);
    hand.finish(&continuation).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_whose_prerequisite_fails_ends_and_its_own_continuation_runs() {
    let (house, hand) = by_hand().await;
    let (predecessor, first) = (house.start(spec("1")).await, house.start(spec("1")).await);
    let continuation = house.start(JobSpec { prerequisites: vec![first.clone()], ..continuation_of(&predecessor) }).await;
    let next = house.start(continuation_of(&continuation)).await;
    hand.fail(&first).await;
    super::ended_by(&house, &continuation, &first).await;
    hand.finish(&next).await;
    hand.finish(&predecessor).await;
    released(&house.redis).await;
    assert_eq!(status(&house, &continuation).await, Status::Error);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stopped_continuations_and_stopped_predecessors_hold_nobody_up() {
    let (house, hand) = by_hand().await;
    let predecessor = house.start(spec("1")).await;
    let (stopped, other) = (house.start(continuation_of(&predecessor)).await, house.start(continuation_of(&predecessor)).await);
    let after_stopped = house.start(continuation_of(&stopped)).await;
    house.dispatcher.stop(CONTEXT, &stopped).await.unwrap();
    hand.finish(&after_stopped).await;
    house.dispatcher.stop(CONTEXT, &predecessor).await.unwrap();
    assert_eq!(hand.obey_stop(&predecessor).await, Status::Error);
    hand.finish(&other).await;
    released(&house.redis).await;
    assert_eq!((status(&house, &stopped).await, hand.times(&stopped).await), (Status::Error, 0));
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_continuation_waits_while_its_predecessor_is_tried_again() {
    let (house, hand) = by_hand().await;
    let predecessor = house.start(JobSpec { retries: 1, ..spec("1") }).await;
    let continuation = house.start(continuation_of(&predecessor)).await;
    assert_eq!(hand.fail(&predecessor).await, Status::Scheduled);
    released(&house.redis).await;
    assert_eq!(status(&house, &continuation).await, Status::WaitingForPrerequisites);
    hand.finish(&predecessor).await;
    hand.finish(&continuation).await;
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
    house.dispatcher.wait(CONTEXT, &line[0].1, PATIENCE).await.unwrap();
    let history = history(&house.redis).await;
    for pair in line.windows(2) {
        assert!(when(&history, &pair[1].1, Status::Finished) < when(&history, &pair[0].1, Status::Started));
        assert!(when(&history, &pair[0].0, Status::Finished) < when(&history, &pair[1].0, Status::Started));
    }
    leaves_nothing(&house.redis).await;
}
