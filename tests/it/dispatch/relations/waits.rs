//! A waiting job does not run although a foreign program starts it, and is let go although its link meets the end.

use std::sync::Arc;

use hero::model::{JobId, Status};

use super::{after, begin, by_hand, child_of, continuation_of, create, leaves_nothing, status};
use crate::support::{spec, until};

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
