//! The time between the creation of a large group and the placement of each of its jobs: whatever fails or ends in
//! between, nothing is lost, and no job waits for ever.

use std::time::Duration;

use hero::dispatch::Error;
use hero::model::{JobId, JobSpec, Status};

use super::staged::{a_process, alone, ids, keys};
use super::steps::{finished, waits_for};
use super::{after, begin, by_hand, named, status};
use crate::support::{CONTEXT, Redis, dispatcher, spec, until};

const MANY: usize = 150;

/// Whether jobs may come to their places: Redis refuses the command for that to everybody, as it does where the user of hero lacks a right.
async fn may_be_shown(redis: &Redis, may: bool) {
    let _: () = redis.run(&["ACL", "SETUSER", "default", if may { "+rename" } else { "-rename" }]).await;
}

async fn is_created(redis: &Redis) {
    until("a group that is created", || async { (redis.run::<u8>(&["EXISTS", "hero:q:created"]).await == 1).then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn relatives_that_cannot_be_linked_now_are_not_lost() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let creator = alone(&redis).await;
    let own = ids(MANY);
    let group: Vec<JobSpec> = own.iter().map(|id| named(id, spec("1"))).collect();
    may_be_shown(&redis, false).await;
    let server = a_process();
    let creating = server.spawn(async move { creator.jobs().create_many(group).await });
    is_created(&redis).await;
    let refused = until("a releaser that is refused", || async { store.jobs().release_relatives(64).await.err() }).await;
    assert!(refused.to_string().contains("can't run this command"), "{refused}");
    // Its creator ends here, too.
    server.shutdown_background();
    let _ = creating.await;
    may_be_shown(&redis, true).await;
    finished(&redis, &store).await;
    let others = dispatcher([store.clone()], redis.directory());
    for id in &own {
        assert_eq!(others.jobs().status(CONTEXT, id).await.unwrap(), Status::Created);
    }
    assert_eq!(redis.run::<usize>(&["ZCARD", "hero:q:scheduled"]).await, MANY);
    let index = keys(&redis, "hero:index:2*").await;
    assert_eq!(redis.run::<usize>(&["LLEN", index.first().unwrap()]).await, MANY);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_before_those_are_entered_that_wait_for_it_is_kept_until_then() {
    let (house, hand) = by_hand().await;
    let brief = house.start(JobSpec { retention: Some(Duration::from_secs(1).into()), ..spec("1") }).await;
    may_be_shown(&house.redis, false).await;
    let creating = house.dispatcher.jobs().create_many(vec![after(&[&brief]); MANY]);
    let (created, ()) = tokio::join!(creating, async {
        is_created(&house.redis).await;
        hand.finish(&brief).await;
        house.is(&brief, Status::Finished).await;
        let key = format!("hero:job:{brief}");
        let kept = until("its end is settled", || async {
            let seconds: i64 = house.redis.run(&["TTL", &key]).await;
            (seconds != -1).then_some(seconds)
        })
        .await;
        assert!(kept > 60, "{kept} s");
        may_be_shown(&house.redis, true).await;
    });
    for id in created.unwrap() {
        begin(&house, &id).await;
        house.is(&id, Status::Dispatched).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_with_a_group_that_is_being_created_is_not_idle() {
    let redis = Redis::start().await;
    let (store, creator) = (redis.store().await, alone(&redis).await);
    may_be_shown(&redis, false).await;
    let creating = tokio::spawn(async move { creator.jobs().create_many(vec![spec("1"); MANY]).await });
    is_created(&redis).await;
    let open = store.contexts().close(false).await.unwrap().expect("it is idle");
    assert_eq!(open.scheduled, MANY as u64);
    may_be_shown(&redis, true).await;
    assert_eq!(creating.await.unwrap().unwrap().len(), MANY);
}

/// Some that are there, as they stand when they were held for a group whose server has ended. Gives for which of its jobs.
async fn held_for(redis: &Redis, group: &JobId, others: &[JobId]) -> Vec<JobId> {
    let held = ids(others.len());
    for (id, other) in held.iter().zip(others) {
        let _: usize = redis.run(&["RPUSH", &format!("hero:staged:{group}:held"), &format!("{id} {other}")]).await;
        let (waits, names) = (format!("waits:dependents:{id}"), format!("prerequisite:{id}"));
        let fields = [waits.as_str(), group.as_str(), &names, "1", "open", "1", "linked", "1", "more_prerequisites", "1"];
        let _: usize = redis.run(&[&["HSET", &format!("hero:job:{other}")], fields.as_slice()].concat()).await;
    }
    held
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_were_held_for_nothing_go_on_by_a_few_calls_one_behind_the_other() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dispatcher = dispatcher([store.clone()], redis.directory());
    let others = dispatcher.jobs().create_many(vec![spec("1"); MANY]).await.unwrap();
    let group = JobId::random();
    held_for(&redis, &group, &others).await;
    let _: usize = redis.run(&["ZADD", "hero:q:staged", "1", &format!("{group} 1")]).await;
    let mut calls = 1;
    while store.jobs().release_relatives(64).await.unwrap() {
        calls += 1;
    }
    assert_eq!(calls, MANY.div_ceil(64));
    for other in [&others[0], &others[MANY - 1]] {
        assert_eq!(waits_for(&redis, other).await, ("0".to_owned(), 0, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_held_for_a_group_continues_if_the_list_of_staged_groups_is_lost() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dispatcher = dispatcher([store.clone()], redis.directory());
    let others = dispatcher.jobs().create_many(vec![spec("1"); 70]).await.unwrap();
    let group = JobId::random();
    held_for(&redis, &group, &others).await;
    let _: usize = redis.run(&["ZADD", "hero:q:holding", "1", &format!("{group} 70")]).await;
    for id in &others {
        assert_eq!(dispatcher.jobs().start(CONTEXT, id).await.unwrap(), Status::WaitingForPrerequisites);
    }
    finished(&redis, &store).await;
    for id in &others {
        assert_eq!(dispatcher.jobs().status(CONTEXT, id).await.unwrap(), Status::Dispatched);
    }
    assert!(keys(&redis, "hero:q:holding").await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_with_keys_that_is_more_than_may_be_created_now_is_refused_by_its_first_slice() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.limits().set_jobs_per_second(10);
    let dispatcher = dispatcher([store], redis.directory());
    let keyed = |name: &str| (0..100).map(|at| JobSpec { idempotency_key: Some(format!("{name}{at}")), ..spec("1") }).collect::<Vec<_>>();
    dispatcher.jobs().create_many(keyed("a")).await.unwrap();
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let refused = dispatcher.jobs().create_many(keyed("b")).await;
    assert!(matches!(refused, Err(Error::TooFast { .. })), "{refused:?}");
    assert_eq!((redis.calls("hset").await, redis.calls("fcall").await), (0, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_up_a_create_leaves_nothing_of_it_staged() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    for _ in 0..8 {
        let creator = dispatcher.clone();
        let creating = tokio::spawn(async move { creator.jobs().create_many(vec![spec("1"); 1000]).await.map(|ids| ids.len()) });
        until("a group that is staged", || async { (redis.run::<u8>(&["EXISTS", "hero:q:staged"]).await == 1).then_some(()) }).await;
        creating.abort();
        let is_left = creating.await.is_err();
        // And nobody else is there to do it.
        until("nothing staged", || async {
            let is_created = redis.run::<u8>(&["EXISTS", "hero:q:created"]).await == 1;
            (is_created || keys(&redis, "hero:*staged*").await.is_empty() || !is_left).then_some(())
        })
        .await;
        redis.store().await.jobs().release_relatives(2000).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_makes_of_the_lists_of_groups_holds_up_nobody() {
    let redis = Redis::start().await;
    let (store, dispatcher) = (redis.store().await, alone(&redis).await);
    let too_many = format!("dependents {} {}", JobId::random(), "x ".repeat(9000));
    let texts = std::iter::repeat_n("\n", 5000).chain([too_many.as_str(), "dependents", "created x"]);
    let [group, other] = [JobId::random(), JobId::random()];
    for key in [format!("hero:staged:{group}:lines"), format!("hero:staged:{other}:held")] {
        let words: Vec<&str> = ["RPUSH", &key].into_iter().chain(texts.clone()).collect();
        let _: usize = redis.run(&words).await;
    }
    let _: usize = redis.run(&["RPUSH", "hero:q:created", group.as_str()]).await;
    let _: usize = redis.run(&["ZADD", "hero:q:staged", "1", &format!("{other} 5")]).await;
    // A call does a bounded part of it.
    store.jobs().release_relatives(64).await.unwrap();
    let left: usize = redis.run(&["LLEN", &format!("hero:staged:{group}:lines")]).await;
    assert!(left >= 5003 - 64, "{left}");
    assert_eq!(dispatcher.jobs().create_many(vec![spec("1"); MANY]).await.unwrap().len(), MANY);
    finished(&redis, &store).await;
    assert_eq!(redis.run::<usize>(&["ZCARD", "hero:q:scheduled"]).await, MANY);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_with_an_impossible_time_leaves_those_beside_it_in_their_lists() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let creator = alone(&redis).await;
    may_be_shown(&redis, false).await;
    let server = a_process();
    let creating = server.spawn(async move { creator.jobs().create_many(vec![spec("1"); MANY]).await });
    is_created(&redis).await;
    server.shutdown_background();
    let _ = creating.await;
    let [group]: [String; 1] = redis.run::<Vec<String>>(&["LRANGE", "hero:q:created", "0", "-1"]).await.try_into().unwrap();
    let (lines, [foreign, id]) = (format!("hero:staged:{group}:lines"), [JobId::random(), JobId::random()]);
    let _: usize = redis.run(&["HSET", &format!("hero:staged:{foreign}:1"), "status", "created"]).await;
    let text: String = redis.run(&["LINDEX", &lines, "0"]).await;
    let _: String = redis.run(&["LSET", &lines, "0", &format!("{text}\ncreated {foreign}:1 {id} n {}", "9".repeat(400))]).await;
    may_be_shown(&redis, true).await;
    store.jobs().release_relatives(64).await.unwrap();
    let _: u8 = redis.run(&["DEL", &format!("hero:staged:{foreign}:1")]).await;
    finished(&redis, &store).await;
    assert_eq!(redis.run::<usize>(&["ZCARD", "hero:q:scheduled"]).await, MANY);
    let index = keys(&redis, "hero:index:2*").await;
    assert_eq!(redis.run::<usize>(&["LLEN", index.first().unwrap()]).await, MANY);
    assert_eq!(redis.run::<u8>(&["EXISTS", &format!("hero:job:{id}")]).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_group_another_program_took_from_the_list_ends() {
    let redis = Redis::start().await;
    let creator = alone(&redis).await;
    may_be_shown(&redis, false).await;
    let creating = tokio::spawn(async move { creator.jobs().create_many(vec![spec("1"); MANY]).await });
    is_created(&redis).await;
    let _: u8 = redis.run(&["DEL", "hero:q:created"]).await;
    let before = redis.calls("fcall").await;
    assert_eq!(creating.await.unwrap().unwrap().len(), MANY);
    let after = redis.calls("fcall").await;
    assert!(after - before < 100, "{before} {after}");
}

/// Another server stages this number of groups.
async fn stage_elsewhere(redis: &Redis, many: usize) {
    for _ in 0..many {
        let _: usize = redis.run(&["ZADD", "hero:q:staged", "32503680000000", &format!("{} 1000", JobId::random())]).await;
    }
}

/// Each of them would be kept for 20 s, whoever sent it.
#[tokio::test(flavor = "multi_thread")]
async fn no_more_than_some_groups_are_staged_at_a_time() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    stage_elsewhere(&redis, 64).await;
    let refused = dispatcher.jobs().create_many(vec![spec("1"); MANY]).await;
    assert!(matches!(&refused, Err(Error::Full { what, .. }) if what.contains("lists of jobs")), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_caller_leaves_room_for_the_groups_of_others() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    stage_elsewhere(&redis, 54).await;
    let group = |caller: &str| {
        let dispatcher = dispatcher.clone();
        let job = JobSpec { caller_id: Some(caller.to_owned()), ..spec("1") };
        async move { dispatcher.jobs().create_many(vec![job; MANY]).await }
    };
    let (of_one, of_other) = tokio::join!(futures_util::future::join_all((0..24).map(|_| group("one"))), group("other"));
    for created in of_one.into_iter().chain([of_other]) {
        assert_eq!(created.unwrap().len(), MANY);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_held_for_a_job_that_somebody_else_creates_waits_for_that_one_alone() {
    let (house, hand) = by_hand().await;
    let (other, group) = (house.dispatcher.jobs().create(spec("1")).await.unwrap(), JobId::random());
    let held = held_for(&house.redis, &group, std::slice::from_ref(&other)).await;
    let id = house.dispatcher.jobs().create(named(&held[0], JobSpec { dependents: vec![other.clone()], ..spec("1") })).await.unwrap();
    let _: usize = house.redis.run(&["ZADD", "hero:q:staged", "1", &format!("{group} 1")]).await;
    assert_eq!(begin(&house, &other).await, Status::WaitingForPrerequisites);
    until("a group that is taken away", || async { keys(&house.redis, "hero:*staged*").await.is_empty().then_some(()) }).await;
    assert_eq!(status(&house, &other).await, Status::WaitingForPrerequisites);
    begin(&house, &id).await;
    hand.finish(&id).await;
    house.is(&other, Status::Dispatched).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_held_does_not_begin_by_a_retry_before_the_group_is_there_or_never_comes() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dispatcher = dispatcher([store.clone()], redis.directory());
    let (other, group) = (dispatcher.jobs().create(spec("1")).await.unwrap(), JobId::random());
    held_for(&redis, &group, std::slice::from_ref(&other)).await;
    let _: usize = redis.run(&["ZADD", "hero:q:staged", "32503680000000", &format!("{group} 1")]).await;
    dispatcher.jobs().start(CONTEXT, &other).await.unwrap();
    assert_eq!(dispatcher.jobs().stop(CONTEXT, &other).await.unwrap(), Status::Error);
    let refused = dispatcher.jobs().retry(CONTEXT, &other).await;
    assert!(matches!(&refused, Err(Error::Full { what, .. }) if what.contains("just being created")), "{refused:?}");
    finished(&redis, &store).await;
    assert_eq!(dispatcher.jobs().retry(CONTEXT, &other).await.unwrap(), Status::Dispatched);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_which_a_part_was_taken_away_is_staged_anew() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let creating = tokio::spawn(async move { dispatcher.jobs().create_many(vec![spec("1"); 1000]).await });
    let script = "local staged = redis.call('KEYS', 'hero:staged:*:3')
        if #staged > 0 then redis.call('DEL', staged[1]) end
        return { #staged, #redis.call('KEYS', 'hero:staged:*') }";
    let many = until("a part that is staged", || async {
        let [taken, many]: [usize; 2] = redis.run(&["EVAL", script, "0"]).await;
        (taken > 0).then_some(many)
    })
    .await;
    assert!(many < 1000, "all were staged before");
    assert_eq!(creating.await.unwrap().unwrap().len(), 1000);
    assert_eq!(keys(&redis, "hero:job:*").await.len(), 1000);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_group_keeps_no_group_from_being_taken_away() {
    let redis = Redis::start().await;
    let (store, group) = (redis.store().await, JobId::random());
    for member in ["x 007", "x 99999999999999999999", "x", &format!("{group} 3")] {
        let _: usize = redis.run(&["ZADD", "hero:q:staged", "1", member]).await;
        let _: usize = redis.run(&["ZADD", "hero:q:holding", "1", member]).await;
    }
    let _: usize = redis.run(&["HSET", &format!("hero:staged:{group}:1"), "status", "created"]).await;
    finished(&redis, &store).await;
    until("nothing that is held", || async {
        store.jobs().release_relatives(64).await.unwrap();
        keys(&redis, "hero:q:holding").await.is_empty().then_some(())
    })
    .await;
}
