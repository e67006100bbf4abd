//! Deleting a job deletes its relations, and no job waits for it.

use hero::dispatch::Error;
use hero::model::{JobId, Status};

use super::{after, begin, by_hand, child_of, continuation_of, create, leaves_nothing, released, status};
use crate::support::{CONTEXT, House, spec};

async fn delete(house: &House, id: &JobId) {
    house.dispatcher.jobs().delete(CONTEXT, id).await.unwrap();
    let gone = house.dispatcher.jobs().status(CONTEXT, id).await.unwrap_err();
    assert!(matches!(gone, Error::NotFound(_)), "{gone:?}");
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
        let explained = house.dispatcher.jobs().explain(CONTEXT, waits).await.unwrap();
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
    let explained = house.dispatcher.jobs().explain(CONTEXT, &dependent).await.unwrap();
    assert_eq!(explained.message, format!("job {first}, which it waits for, was deleted; that ends it in a moment, else stop_job does"));
    // As is said there.
    assert_eq!(house.dispatcher.jobs().stop(CONTEXT, &dependent).await.unwrap(), Status::Error);
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
async fn a_job_that_runs_or_whose_children_have_not_ended_is_not_deleted_and_keeps_its_relations() {
    let (house, hand) = by_hand().await;
    let job = house.start(spec("1")).await;
    let relatives = [house.start(after(&[&job])).await, house.start(child_of(&job)).await, house.start(continuation_of(&job)).await];
    let refused = async || house.dispatcher.jobs().delete(CONTEXT, &job).await.unwrap_err();
    hand.take(&job).await;
    let running = refused().await;
    assert!(matches!(running, Error::State { status: Status::Started, .. }), "{running:?}");
    hand.finish(&job).await;
    released(&house.redis).await;
    let open = refused().await;
    assert!(matches!(open, Error::State { status: Status::Finished, .. }), "{open:?}");
    assert!(open.to_string().ends_with("is finished, so it cannot be deleted before its children have ended"), "{open}");
    for relative in &relatives {
        hand.finish(relative).await;
    }
    leaves_nothing(&house.redis).await;
}
