//! Jobs of a group that was staged wait as others do, whatever becomes of those they wait for meanwhile.

use hero::model::{JobId, JobSpec, Status};

use super::staged::{MANY, keys};
use super::{after, begin, by_hand, continuation_of, ended_by, named, status};
use crate::support::{CONTEXT, Redis, dispatcher, spec, until};

#[tokio::test(flavor = "multi_thread")]
async fn many_that_wait_for_what_has_ended_or_ends_meanwhile_go_on() {
    let (house, hand) = by_hand().await;
    let [ended, failed] = [house.start(spec("1")).await, house.start(spec("1")).await];
    hand.finish(&ended).await;
    hand.fail(&failed).await;
    let specs: Vec<JobSpec> = (0..100).map(|at| if at % 2 == 0 { after(&[&ended]) } else { continuation_of(&failed) }).collect();
    for id in house.dispatcher.jobs().create_many(specs).await.unwrap() {
        assert_eq!(begin(&house, &id).await, Status::Dispatched);
    }
    let lost = house.dispatcher.jobs().create_many(vec![after(&[&failed]); 100]).await.unwrap();
    for id in [&lost[0], &lost[99]] {
        ended_by(&house, id, &failed).await;
    }
    for round in 0..4 {
        let last = house.start(spec("1")).await;
        let creating = house.dispatcher.jobs().create_many(vec![after(&[&last]); 300]);
        let (ids, ()) = tokio::join!(creating, async {
            for _ in 0..round * 3 {
                status(&house, &last).await;
            }
            hand.finish(&last).await;
        });
        for id in ids.unwrap() {
            begin(&house, &id).await;
            house.is(&id, Status::Dispatched).await;
        }
    }
    until("no relations", || async { keys(&house.redis, "hero:rel:*").await.is_empty().then_some(()) }).await;
}

/// Deletes a job while a part of a group is staged, and the rest is not.
async fn delete_between_slices(redis: &Redis, id: &JobId) {
    let script = "local many = #redis.call('KEYS', 'hero:staged:*')
        if many > 0 then redis.call('DEL', KEYS[1]) end
        return many";
    loop {
        let many: usize = redis.run(&["EVAL", script, "1", &format!("hero:job:{id}")]).await;
        if many > 0 {
            assert!(many < MANY, "all were staged before");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_had_ended_when_a_part_of_a_group_was_staged_counts_for_the_rest_though_it_is_gone() {
    let (house, hand) = by_hand().await;
    for what in ["prerequisite", "predecessor", "parent"] {
        let other = house.start(spec("1")).await;
        hand.finish(&other).await;
        let related = match what {
            "prerequisite" => after(&[&other]),
            "predecessor" => continuation_of(&other),
            _ => JobSpec { parent_id: Some(other.clone()), ..spec("1") },
        };
        let creating = house.dispatcher.jobs().create_many(vec![related; MANY]);
        let (ids, ()) = tokio::join!(creating, delete_between_slices(&house.redis, &other));
        let ids = ids.unwrap_or_else(|error| panic!("{what}: {error}"));
        for id in [&ids[0], &ids[MANY / 2], &ids[MANY - 1]] {
            assert_eq!(begin(&house, id).await, Status::Dispatched, "{what}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_wait_for_a_job_and_are_its_continuations_begin_when_its_children_have_ended() {
    let (house, hand) = by_hand().await;
    let parent = house.start(spec("1")).await;
    hand.finish(&parent).await;
    let child = house.start(JobSpec { parent_id: Some(parent.clone()), ..spec("1") }).await;
    let both = JobSpec { predecessor_id: Some(parent.clone()), ..after(&[&parent]) };
    let ids = house.dispatcher.jobs().create_many(vec![both; 100]).await.unwrap();
    assert_eq!(begin(&house, &ids[99]).await, Status::WaitingForPrerequisites);
    hand.finish(&child).await;
    house.is(&ids[99], Status::Dispatched).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_of_a_thousand_waits_for_its_root_outside_and_inside_of_the_group() {
    let (house, hand) = by_hand().await;
    let root = JobId::random();
    let first: Vec<JobSpec> = std::iter::once(named(&root, spec("1"))).chain((1..500).map(|_| after(&[&root]))).collect();
    let mut ids = house.dispatcher.jobs().create_many(first).await.unwrap();
    ids.extend(house.dispatcher.jobs().create_many(vec![after(&[&root]); 500]).await.unwrap());
    for id in &ids[1..] {
        assert_eq!(begin(&house, id).await, Status::WaitingForPrerequisites);
    }
    begin(&house, &root).await;
    hand.finish(&root).await;
    for id in &ids[1..] {
        house.is(id, Status::Dispatched).await;
    }
    until("no relations", || async { keys(&house.redis, "hero:rel:*").await.is_empty().then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn those_whose_creator_ended_after_the_step_are_entered_by_the_releaser() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dispatcher = dispatcher([store.clone()], redis.directory());
    let other = dispatcher.jobs().create(spec("1")).await.unwrap();
    let ids = dispatcher.jobs().create_many(vec![after(&[&other]); 100]).await.unwrap();
    let list = format!("hero:rel:{other}:dependents");
    assert_eq!(redis.run::<usize>(&["LLEN", &list]).await, 100);
    // As the step leaves them.
    let _: usize = redis.run(&["DEL", &list]).await;
    for some in ids.chunks(64) {
        let waiting = some.iter().map(JobId::as_str).collect::<Vec<_>>().join(" ");
        let _: usize = redis.run(&["RPUSH", "hero:staged:group:lines", &format!("dependents {other} {waiting}")]).await;
    }
    let _: usize = redis.run(&["RPUSH", "hero:q:created", "group"]).await;
    // Nobody comes to it before that one is deleted: each of them learns of it all the same.
    dispatcher.jobs().delete(CONTEXT, &other).await.unwrap();
    while store.jobs().release_relatives(64).await.unwrap() {}
    for id in [&ids[0], &ids[99]] {
        let error: String = redis.run(&["HGET", &format!("hero:job:{id}"), "error"]).await;
        assert!(error.contains("was deleted"), "{error}");
    }
    assert!(keys(&redis, "hero:rel:*").await.is_empty() && keys(&redis, "hero:q:created").await.is_empty());
}
