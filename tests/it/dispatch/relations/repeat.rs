//! Repeating a group of many jobs, even during its creation, returns the same jobs, or reports that nothing was stored.

use hero::dispatch::Error;
use hero::model::{JobId, JobSpec};

use super::staged::{MANY, alone, chain, holds_only, ids, keys};
use super::{after, named};
use crate::support::{Redis, spec};

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_keys_of_many_give_the_same_again_and_refuse_others() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let keyed = |at: usize, script: &str| JobSpec { idempotency_key: Some(format!("k{at}")), ..spec(script) };
    let group = |from: usize| (from..from + 100).map(|at| keyed(at, "1")).collect::<Vec<_>>();
    let ids = dispatcher.jobs().create_many(group(0)).await.unwrap();
    assert_eq!(dispatcher.jobs().create_many(group(0)).await.unwrap(), ids);
    let more = dispatcher.jobs().create_many(group(50)).await.unwrap();
    assert_eq!(more[..50], ids[50..]);
    holds_only(&redis, 150).await;
    let mut other = group(100);
    other[70] = keyed(20, "2");
    let error = dispatcher.jobs().create_many(other).await.unwrap_err().to_string();
    assert!(error.contains("jobs[70]") && error.contains(ids[20].as_str()), "{error}");
    holds_only(&redis, 150).await;
    // Of two that come at once each key is one job.
    let same = futures_util::future::join_all((0..8).map(|_| dispatcher.jobs().create_many(group(300)))).await;
    let same: Vec<Vec<JobId>> = same.into_iter().map(Result::unwrap).collect();
    assert!(same.iter().all(|ids| *ids == same[0]));
    holds_only(&redis, 250).await;
    let created: usize = redis.run(&["HGET", "hero:meta:queue:stats:osis", "created"]).await;
    assert_eq!(created, 250);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_with_ids_and_keys_of_its_own_that_is_sent_again_meanwhile_is_the_same() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    // A few keys that stand for others by then are looked at in the step, and with more the group is staged anew.
    let mut there = 0;
    for (round, many_keyed) in [(0, 30), (1, 100)] {
        let own = ids(many_keyed);
        let keyed = |at: usize| JobSpec { idempotency_key: Some(format!("k{round}-{at}")), ..named(&own[at], spec("1")) };
        let group = || (0..100).map(|at| if at < many_keyed { keyed(at) } else { spec("1") }).collect::<Vec<_>>();
        let made = futures_util::future::join_all((0..4).map(|_| dispatcher.jobs().create_many(group()))).await;
        for ids in made {
            assert_eq!(ids.unwrap()[..many_keyed], own);
        }
        there += many_keyed + 4 * (100 - many_keyed);
        holds_only(&redis, there).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_groups_with_the_same_ids_and_keys_at_once_that_differ_one_is_created_and_stays_the_same() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let own = ids(30);
    let keyed = |at: usize, script: &str| JobSpec { idempotency_key: Some(format!("k{at}")), ..named(&own[at], spec(script)) };
    let group = |script: &str| (0..100).map(|at| if at < 30 { keyed(at, script) } else { spec("1") }).collect::<Vec<_>>();
    let (one, two) = tokio::join!(dispatcher.jobs().create_many(group("1")), dispatcher.jobs().create_many(group("2")));
    let (script, refused) = if one.is_ok() { ("1", two) } else { ("2", one) };
    assert!(matches!(refused, Err(Error::Entry { .. })), "{refused:?}");
    holds_only(&redis, 100).await;
    // Its keys stand for its own parameters.
    assert_eq!(dispatcher.jobs().create_many(group(script)).await.unwrap()[..30], own);
    holds_only(&redis, 170).await;
    assert_eq!(redis.run::<usize>(&["HGET", "hero:meta:queue:stats:osis", "created"]).await, 170);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_gone_before_each_step_says_that_nothing_of_it_is_stored() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let away = "for _, key in ipairs(redis.call('KEYS', 'hero:staged:*')) do redis.call('UNLINK', key) end return 1";
    let take_away = async {
        loop {
            redis.run::<usize>(&["EVAL", away, "0"]).await;
        }
    };
    let refused = tokio::select! {
        refused = dispatcher.jobs().create_many(chain(&ids(MANY))) => refused,
        () = take_away => unreachable!(),
    };
    let Err(Error::Store { not_done: true, source, .. }) = refused else { panic!("{refused:?}") };
    assert!(source.may_pass() && source.to_string().contains("nothing was stored, try again"), "{source}");
    holds_only(&redis, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_of_a_group_that_was_refused_stand_for_nothing_and_go() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let keyed = |at: usize| JobSpec { idempotency_key: Some(format!("k{at}")), ..spec("1") };
    let mut group: Vec<JobSpec> = (0..200).map(keyed).collect();
    group[199] = JobSpec { idempotency_key: Some("k199".to_owned()), ..after(&[&JobId::random()]) };
    dispatcher.jobs().create_many(group.clone()).await.unwrap_err();
    holds_only(&redis, 0).await;
    assert!(keys(&redis, "hero:idem:*").await.is_empty());
    // As a server leaves them that ends before the step.
    group[199] = keyed(199);
    let ids = dispatcher.jobs().create_many(group.clone()).await.unwrap();
    let hashes = keys(&redis, "hero:job:*").await;
    let _: usize = redis.run(&["DEL", hashes.first().unwrap()]).await;
    let again = dispatcher.jobs().create_many(group).await.unwrap();
    assert_eq!(again.iter().filter(|id| !ids.contains(id)).count(), 1);
}
