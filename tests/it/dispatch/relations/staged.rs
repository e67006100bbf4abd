//! Large groups are staged in slices, and then created in one short step: all or none.

use std::collections::BTreeSet;

use futures_util::StreamExt as _;
use hero::dispatch::{Dispatcher, Error};
use hero::model::{JobId, JobSpec, Status};
use hero::store::Moment;
use rand::Rng as _;

use super::{after, continuation_of, named};
use crate::support::{Redis, dispatcher, random, spec, until};

pub(super) const MANY: usize = 1_000;

/// A dispatcher without the loops that talk to Redis all the time.
pub(super) async fn alone(redis: &Redis) -> Dispatcher {
    dispatcher([redis.store().await], redis.directory())
}

/// What runs here and ends at once with all that it does, as a process that is killed.
pub(super) fn a_process() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// The number of connections.
pub(super) async fn clients(redis: &Redis) -> BTreeSet<String> {
    let all = redis.run::<String>(&["CLIENT", "LIST"]).await;
    // Without the one that asks.
    let others = all.lines().filter(|client| !client.contains("cmd=client|list"));
    others.filter_map(|client| client.split(' ').next()).map(str::to_owned).collect()
}

/// Those are gone that have come since, so that whatever they have sent is done.
pub(super) async fn gone(redis: &Redis, before: BTreeSet<String>) {
    until("connections that are closed", || async { clients(redis).await.is_subset(&before).then_some(()) }).await;
}

pub(super) async fn keys(redis: &Redis, pattern: &str) -> BTreeSet<String> {
    redis.run::<Vec<String>>(&["KEYS", pattern]).await.into_iter().collect()
}

/// Nothing is left of a group that was refused, and nothing of it was stored.
pub(super) async fn holds_only(redis: &Redis, jobs: usize) {
    assert_eq!(keys(redis, "hero:job:*").await.len(), jobs);
    assert_eq!(redis.run::<usize>(&["ZCARD", "hero:q:scheduled"]).await, jobs);
    assert!(keys(redis, "hero:staged:*").await.is_empty() && keys(redis, "hero:rel:*").await.is_empty());
}

/// Each waits for the one before.
pub(super) fn chain(ids: &[JobId]) -> Vec<JobSpec> {
    let link = |at: usize| named(&ids[at], if at == 0 { spec("1") } else { after(&[&ids[at - 1]]) });
    (0..ids.len()).map(link).collect()
}

pub(super) fn ids(many: usize) -> Vec<JobId> {
    (0..many).map(|_| JobId::random()).collect()
}

/// The shapes that a group may have.
pub(super) const SHAPES: [&str; 9] =
    ["plain", "chain", "children", "after others", "continuations", "keyed", "dependents", "children after others", "keyed after two"];

/// A group of one job for each of these others, which are there.
pub(super) fn shape(name: &str, others: &[JobId], round: usize) -> Vec<JobSpec> {
    let child_of = |other: &JobId| Some(other.clone());
    let key = |at: usize| Some(format!("{round}-{at}"));
    let one = |(at, other): (usize, &JobId)| match name {
        "children" => JobSpec { parent_id: child_of(other), ..spec("1") },
        "after others" => after(&[other]),
        "continuations" => continuation_of(other),
        "keyed" => JobSpec { idempotency_key: key(at), ..spec("1") },
        "dependents" => JobSpec { dependents: vec![other.clone()], ..spec("1") },
        "children after others" => JobSpec { parent_id: child_of(&others[(at + 1) % others.len()]), ..after(&[other]) },
        "keyed after two" => JobSpec { idempotency_key: key(at), predecessor_id: child_of(&others[0]), ..after(&[other]) },
        _ => spec("1"),
    };
    if name == "chain" { chain(&ids(others.len())) } else { others.iter().enumerate().map(one).collect() }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_writes_more_than_a_slice_and_one_creates_all() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    dispatcher.jobs().create(spec("1")).await.unwrap();
    let ids = ids(MANY);
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    assert_eq!(dispatcher.jobs().create_many(chain(&ids)).await.unwrap(), ids);
    // What each function calls is counted, too: a few commands for each job in the step, and nothing that writes a whole hash.
    assert_eq!((redis.calls("rename").await, redis.calls("persist").await, redis.calls("xadd").await), (1_000, 1_000, 42));
    // A slice is 24 jobs; after the step those of two come to their places by a call, and 64 are entered.
    assert_eq!(redis.calls("fcall").await, MANY.div_ceil(24) as u64 + 1 + MANY.div_ceil(48) as u64 + (MANY - 1).div_ceil(64) as u64);
    assert!(keys(&redis, "hero:staged:*").await.is_empty());
    let ttl: i64 = redis.run(&["TTL", &format!("hero:job:{}", ids[500])]).await;
    assert_eq!(ttl, -1);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_a_large_group_are_as_those_of_a_small_one() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let (small, large) = (ids(3), ids(300));
    dispatcher.jobs().create_many(chain(&small)).await.unwrap();
    dispatcher.jobs().create_many(chain(&large)).await.unwrap();
    for at in [0, 1] {
        let hash = async |id: &JobId, others: &[JobId]| {
            let words: Vec<String> = redis.run(&["HGETALL", &format!("hero:job:{id}")]).await;
            let mut fields: Vec<(String, String)> = words.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
            fields.retain(|(field, _)| !matches!(field.as_str(), "created_at" | "updated_at" | "given_back"));
            fields.sort_unstable();
            let mut text = format!("{fields:?}");
            for (at, other) in others.iter().enumerate() {
                text = text.replace(other.as_str(), &at.to_string());
            }
            text
        };
        assert_eq!(hash(&large[at], &large[..2]).await, hash(&small[at], &small[..2]).await);
    }
    let listed: Vec<String> = redis.run(&["LRANGE", keys(&redis, "hero:index:2*").await.first().unwrap(), "0", "-1"]).await;
    assert_eq!(listed, small.iter().chain(&large).map(ToString::to_string).collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_entry_of_many_leaves_nothing() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let there = dispatcher.jobs().create(spec("1")).await.unwrap();
    let own = JobId::random();
    let bad = [
        ("a missing prerequisite", after(&[&JobId::random()]), "150"),
        ("a missing predecessor", continuation_of(&JobId::random()), "150"),
        ("an id that is taken", named(&there, spec("1")), "150"),
        ("a cycle of one", named(&own, after(&[&own])), "150"),
    ];
    for (what, bad, index) in bad {
        let mut specs = chain(&ids(300));
        specs[150] = bad;
        // The next of the chain waits for one that is not in it now.
        specs[151] = spec("1");
        let error = dispatcher.jobs().create_many(specs).await.expect_err(what).to_string();
        assert!(error.contains(&format!("jobs[{index}]")), "{what}: {error}");
        holds_only(&redis, 1).await;
    }
    let ids = ids(300);
    let mut circle = chain(&ids);
    circle[0] = named(&ids[0], after(&[&ids[299]]));
    let error = dispatcher.jobs().create_many(circle).await.unwrap_err().to_string();
    assert!(error.contains("would wait for each other") && error.contains(ids[299].as_str()), "{error}");
    holds_only(&redis, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_redis_takes_none_of_many() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    dispatcher.jobs().create(spec("1")).await.unwrap();
    let used = redis.memory("used_memory").await;
    // Room for a part of them.
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", &(used + 400_000).to_string()]).await;
    let error =
        dispatcher.jobs().create_many(vec![JobSpec { args: Some(format!("\"{}\"", "x".repeat(1_000)).into()), ..spec("1") }; MANY]).await;
    assert!(matches!(error, Err(Error::Store { .. } | Error::Full { .. })), "{error:?}");
    let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
    holds_only(&redis, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_while_it_creates_many_has_created_all_or_none() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut random = random();
    let (mut stored, mut broken_off) = (0, 0);
    for _ in 0..30 {
        let clients = clients(&redis).await;
        let dispatcher = alone(&redis).await;
        let server = a_process();
        let creating = server.spawn(async move { dispatcher.jobs().create_many(chain(&ids(200))).await.map(|ids| ids.len()) });
        for _ in 0..random.random_range(0..60) {
            let _: String = redis.run(&["PING"]).await;
        }
        server.shutdown_background();
        match creating.await {
            Ok(created) => assert_eq!(created.unwrap(), 200),
            Err(_) => broken_off += 1,
        }
        gone(&redis, clients).await;
        // Others go on with what was created.
        let many = until("all or none", || async {
            store.jobs().release_relatives(64).await.unwrap();
            let many = keys(&redis, "hero:job:*").await.len();
            let is_done = redis.run::<usize>(&["LLEN", "hero:q:created"]).await == 0;
            (is_done && many % 200 == 0).then_some(many)
        })
        .await;
        assert!(many == stored || many == stored + 200, "{many} after {stored}");
        stored = many;
        assert_eq!(redis.run::<usize>(&["ZCARD", "hero:q:scheduled"]).await, stored);
        for key in keys(&redis, "hero:staged:*").await {
            let ttl: i64 = redis.run(&["TTL", &key]).await;
            let group = key.split(':').nth(2).unwrap().to_owned();
            let due: Option<f64> = redis.run(&["ZSCORE", "hero:q:staged", &format!("{group} 200")]).await;
            let linking: Vec<String> = redis.run(&["LRANGE", "hero:q:created", "0", "-1"]).await;
            assert!(
                ttl == -2 || ttl > 0 && (due.is_some() || linking.contains(&group)),
                "{key} stays for {ttl} s, and nobody looks after it"
            );
        }
    }
    println!("{broken_off} were broken off, {stored} jobs are there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_sees_each_of_many_that_were_created_together_from_whatever_cursor() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dispatcher = dispatcher([store.clone()], redis.directory());
    let ids = dispatcher.jobs().create_many(vec![spec("1"); 250]).await.unwrap();
    let read = async |cursor: &str| {
        let mut changes = Box::pin(store.events().replay(cursor).await.unwrap().unwrap());
        let mut seen = Vec::new();
        while let Some(moment) = changes.next().await {
            match moment.unwrap() {
                Moment::Change(event) => seen.push((event.cursor.clone(), event.job_id.clone(), event.status)),
                lagged @ Moment::Lagged(_) => panic!("{lagged:?}"),
            }
        }
        seen
    };
    let all = read("0-0").await;
    assert_eq!(all.iter().map(|(_, id, _)| id.clone()).collect::<Vec<_>>(), ids);
    assert!(all.iter().all(|(_, _, status)| *status == Status::Created));
    for at in [0, 1, 98, 99, 100, 199, 248, 249] {
        assert_eq!(read(&all[at].0).await, all[at + 1..]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_is_more_than_may_be_created_now_is_refused_before_anything_of_it_is_written() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.limits().set_jobs_per_second(10);
    let dispatcher = dispatcher([store], redis.directory());
    let keyed = || (0..100).map(|at| JobSpec { idempotency_key: Some(format!("k{at}")), ..spec("1") }).collect::<Vec<_>>();
    let first = dispatcher.jobs().create_many(keyed()).await.unwrap();
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let refused = dispatcher.jobs().create_many(chain(&ids(MANY))).await;
    // That is the group's, and no entry is at fault.
    assert!(matches!(refused, Err(Error::TooFast { .. })), "{refused:?}");
    assert_eq!((redis.calls("hset").await, redis.calls("expire").await, redis.calls("fcall").await), (0, 0, 1));
    holds_only(&redis, 100).await;
    // Nothing of this one is new.
    assert_eq!(dispatcher.jobs().create_many(keyed()).await.unwrap(), first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_any_shape_is_created_by_one_step_and_entered_in_few_calls() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let others = dispatcher.jobs().create_many(vec![spec("1"); MANY]).await.unwrap();
    let _: () = redis.run(&["CONFIG", "SET", "slowlog-max-len", "100000"]).await;
    for (round, name) in SHAPES.into_iter().enumerate() {
        let specs = shape(name, &others, round);
        let _: () = redis.run(&["CONFIG", "SET", "slowlog-log-slower-than", "0"]).await;
        let _: () = redis.run(&["SLOWLOG", "RESET"]).await;
        dispatcher.jobs().create_many(specs).await.unwrap();
        let _: () = redis.run(&["CONFIG", "SET", "slowlog-log-slower-than", "-1"]).await;
        let entries: Vec<(u64, u64, u64, Vec<String>, String, String)> = redis.run(&["SLOWLOG", "GET", "100000"]).await;
        let times = |name: &str| {
            let of = |words: &[String]| words[0].eq_ignore_ascii_case("FCALL") && words[1].ends_with(name);
            let mut times: Vec<u64> = entries.iter().filter(|entry| of(&entry.3)).map(|entry| entry.2).collect();
            times.sort_unstable();
            times
        };
        let of_each @ [slices, steps, entered, _, _] =
            &["_create", "_commit_jobs", "_link_jobs", "_hold_dependents", "_read_relations"].map(times);
        println!("{name}: the longest of create, commit, link, hold, read, µs: {:?}", of_each.each_ref().map(|times| times.last()));
        // No time is asserted: on a busy machine it is that of others, too.
        assert_eq!((slices.len() >= MANY / 24, steps.len()), (true, 1), "{name}");
        assert!(entered.len() <= 64, "{name}: {}", entered.len());
        assert_eq!(redis.run::<usize>(&["LLEN", "hero:q:created"]).await, 0);
    }
}
