//! Relations that make no sense are refused, and nothing is stored.

use hero::dispatch::Error;
use hero::model::{JobId, JobSpec, Status};

use super::{after, begin, by_hand, child_of, continuation_of, create, leaves_nothing, named, status};
use crate::support::{CONTEXT, House, spec};

async fn jobs(house: &House) -> usize {
    house.redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await.len()
}

/// The refusal is one of the parameters, names these jobs, and leaves everything as it was.
async fn refused(house: &House, specs: Vec<JobSpec>, naming: &[&JobId]) -> String {
    let (jobs_before, keys_before) = (jobs(house).await, keys(house).await);
    let single = specs.len() == 1;
    let error = match single {
        true => house.dispatcher.jobs().create(specs[0].clone()).await.unwrap_err(),
        false => house.dispatcher.jobs().create_many(specs.clone()).await.unwrap_err(),
    };
    let text = error.to_string();
    for id in naming {
        assert!(text.contains(id.as_str()), "{text:?} does not name {id}");
    }
    assert!(!matches!(error, Error::Store { .. } | Error::NotFound(_)), "{error:?}");
    assert_eq!((jobs(house).await, keys(house).await), (jobs_before, keys_before), "{text}");
    if single {
        house.dispatcher.jobs().create_many(specs).await.unwrap_err();
        assert_eq!(jobs(house).await, jobs_before);
    }
    text
}

/// The keys of relations.
async fn keys(house: &House) -> Vec<String> {
    let mut keys: Vec<String> = house.redis.run(&["KEYS", "hero:rel:*"]).await;
    keys.sort_unstable();
    keys
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_do_not_exist_are_named() {
    let (house, _) = by_hand().await;
    let (there, missing, other) = (create(&house, spec("1")).await, JobId::random(), JobId::random());
    refused(&house, vec![after(&[&missing])], &[&missing]).await;
    refused(&house, vec![after(&[&there, &missing])], &[&missing]).await;
    refused(&house, vec![JobSpec { dependents: vec![there.clone(), missing.clone()], ..spec("1") }], &[&missing]).await;
    refused(&house, vec![child_of(&missing)], &[&missing]).await;
    refused(&house, vec![continuation_of(&missing)], &[&missing]).await;
    refused(&house, vec![after(&[&missing, &there, &other])], &[&missing, &other]).await;
    refused(&house, vec![spec("1"), after(&[&there, &missing])], &[&missing]).await;
    // Waiting for it or not makes no difference.
    house.dispatcher.jobs().run_and_wait(after(&[&missing]), crate::support::PATIENCE).await.unwrap_err();
    assert_eq!(jobs(&house).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_cannot_wait_for_itself() {
    let (house, _) = by_hand().await;
    let id = JobId::random();
    for spec in [after(&[&id]), child_of(&id), continuation_of(&id), JobSpec { dependents: vec![id.clone()], ..spec("1") }] {
        refused(&house, vec![named(&id, spec)], &[&id]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_created_together_cannot_wait_in_a_cycle() {
    let (house, _) = by_hand().await;
    let [a, b, c, d] = std::array::from_fn(|_| JobId::random());
    refused(&house, vec![named(&a, after(&[&b])), named(&b, after(&[&a]))], &[&a, &b]).await;
    refused(&house, vec![named(&a, after(&[&b])), named(&b, after(&[&c])), named(&c, after(&[&a]))], &[&a, &b, &c]).await;
    // Somebody who waits outside the cycle is not part of it.
    let cycle = vec![named(&d, after(&[&a])), named(&a, after(&[&b])), named(&b, after(&[&a]))];
    refused(&house, cycle, &[&a, &b]).await;
    let by_dependents = vec![named(&a, JobSpec { dependents: vec![b.clone()], ..after(&[&b]) }), named(&b, spec("1"))];
    refused(&house, by_dependents, &[&a, &b]).await;
    refused(&house, vec![named(&a, child_of(&b)), named(&b, child_of(&a))], &[&a, &b]).await;
    refused(&house, vec![named(&a, continuation_of(&b)), named(&b, continuation_of(&a))], &[&a, &b]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relations_of_different_kinds_cannot_make_a_cycle() {
    let (house, _) = by_hand().await;
    let [a, b, c] = std::array::from_fn(|_| JobId::random());
    // A child waits until its parent has returned, a continuation even longer.
    refused(&house, vec![named(&a, after(&[&b])), named(&b, child_of(&a))], &[&a, &b]).await;
    refused(&house, vec![named(&a, after(&[&b])), named(&b, continuation_of(&a))], &[&a, &b]).await;
    // A parent is closed only after its descendants.
    refused(&house, vec![named(&a, spec("1")), named(&b, JobSpec { predecessor_id: Some(a.clone()), ..child_of(&a) })], &[&a, &b]).await;
    let grandchild = named(&c, JobSpec { predecessor_id: Some(a.clone()), ..child_of(&b) });
    refused(&house, vec![named(&a, spec("1")), named(&b, child_of(&a)), grandchild], &[&a, &c]).await;
    // The child waits for the continuation of its parent.
    let child = named(&b, JobSpec { parent_id: Some(a.clone()), ..after(&[&c]) });
    refused(&house, vec![named(&a, spec("1")), child, named(&c, continuation_of(&a))], &[&b, &c]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_job_cannot_close_a_cycle_of_old_ones() {
    let (house, _) = by_hand().await;
    let a = create(&house, spec("1")).await;
    let b = create(&house, after(&[&a])).await;
    let c = create(&house, after(&[&b])).await;
    let new = JobId::random();
    for last in [&b, &c] {
        let closing = JobSpec { dependents: vec![a.clone()], ..after(&[last]) };
        refused(&house, vec![named(&new, closing)], &[&a, last]).await;
    }
    let child = create(&house, child_of(&a)).await;
    let grandchild = create(&house, child_of(&child)).await;
    for ancestor in [&a, &child] {
        let own_ancestor = JobSpec { predecessor_id: Some(ancestor.clone()), ..child_of(&grandchild) };
        refused(&house, vec![named(&new, own_ancestor)], &[ancestor]).await;
        // A continuation of the ancestor that a descendant would wait for.
        let continuation = JobSpec { dependents: vec![grandchild.clone()], ..continuation_of(ancestor) };
        refused(&house, vec![named(&new, continuation)], &[&grandchild]).await;
    }
    // The parent would wait for its child.
    refused(&house, vec![named(&new, JobSpec { dependents: vec![a.clone()], ..child_of(&a) })], &[&a]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_begun_gets_no_more_prerequisites() {
    let (house, hand) = by_hand().await;
    let dispatched = house.start(spec("1")).await;
    refused(&house, vec![JobSpec { dependents: vec![dispatched.clone()], ..spec("1") }], &[&dispatched]).await;
    hand.take(&dispatched).await;
    refused(&house, vec![JobSpec { dependents: vec![dispatched.clone()], ..spec("1") }], &[&dispatched]).await;
    hand.finish(&dispatched).await;
    refused(&house, vec![JobSpec { dependents: vec![dispatched.clone()], ..spec("1") }], &[&dispatched]).await;
    assert_eq!(status(&house, &dispatched).await, Status::Finished);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_has_not_begun_waits_for_those_that_name_it_as_their_dependent() {
    let (house, hand) = by_hand().await;
    let first = create(&house, spec("1")).await;
    let (created, waiting) = (create(&house, spec("1")).await, house.start(after(&[&first])).await);
    let both = vec![created.clone(), waiting.clone(), created.clone()];
    let new = create(&house, JobSpec { dependents: both, ..spec("1") }).await;
    assert_eq!(begin(&house, &created).await, Status::WaitingForPrerequisites);
    begin(&house, &first).await;
    hand.finish(&first).await;
    super::released(&house.redis).await;
    assert_eq!(status(&house, &waiting).await, Status::WaitingForPrerequisites);
    house.dispatcher.jobs().start(CONTEXT, &new).await.unwrap();
    hand.finish(&new).await;
    hand.finish(&waiting).await;
    hand.finish(&created).await;
    leaves_nothing(&house.redis).await;
}
