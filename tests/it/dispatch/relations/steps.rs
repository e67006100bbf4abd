//! A large group of any shape is created in many steps. If a server ends between two of them, or Redis is full, either
//! all of it exists in the end or none. Jobs that existed before wait for it, or continue as if it had never existed.

use hero::dispatch::{Dispatcher, Error};
use hero::model::{JobId, JobSpec, Status};
use hero::store::Store;
use rand::Rng as _;

use super::staged::{SHAPES, a_process, alone, clients, gone, ids, keys, shape};
use super::{after, begin, by_hand, child_of, continuation_of, named, status};
use crate::support::{CONTEXT, Redis, dispatcher, random, spec, until};

const MANY: usize = 150;

/// Groups that nobody has created in time are taken away, and the rest of those that were created is done.
pub(super) async fn finished(redis: &Redis, store: &Store) {
    let groups: Vec<String> = redis.run(&["ZRANGE", "hero:q:staged", "0", "-1"]).await;
    for group in groups {
        let _: usize = redis.run(&["ZADD", "hero:q:staged", "XX", "1", &group]).await;
    }
    until("nothing left to do", || async {
        let more = store.jobs().release_relatives(64).await.unwrap();
        let left = keys(redis, "hero:staged:*").await.len() + keys(redis, "hero:q:staged").await.len();
        (!more && left == 0).then_some(())
    })
    .await;
    assert!(keys(redis, "hero:q:created").await.is_empty());
}

async fn count(redis: &Redis) -> usize {
    let jobs = keys(redis, "hero:job:*").await.len();
    assert_eq!(redis.run::<usize>(&["ZCARD", "hero:q:scheduled"]).await, jobs);
    jobs
}

/// The fields that list the prerequisites of a job.
pub(super) async fn waits_for(redis: &Redis, id: &JobId) -> (String, usize, usize) {
    let words: Vec<String> = redis.run(&["HGETALL", &format!("hero:job:{id}")]).await;
    let fields: Vec<(&str, &str)> = words.chunks(2).map(|pair| (pair[0].as_str(), pair[1].as_str())).collect();
    let many = |prefix: &str| fields.iter().filter(|(field, _)| field.starts_with(prefix)).count();
    let open = fields.iter().find(|(field, _)| *field == "open").map_or("0", |(_, open)| open);
    (open.to_owned(), many("waits:"), many("prerequisite:"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_of_any_shape_whose_server_ends_between_two_steps_is_there_or_not_at_all() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut random = random();
    let (mut there, mut broken_off) = (0, [0, 0]);
    for round in 0..5 * SHAPES.len() {
        let clients = clients(&redis).await;
        let dispatcher = alone(&redis).await;
        let others = dispatcher.jobs().create_many(vec![spec("1"); MANY]).await.unwrap();
        there += MANY;
        let name = SHAPES[round % SHAPES.len()];
        let group = shape(name, &others, round);
        let server = a_process();
        let creating = server.spawn(async move { dispatcher.jobs().create_many(group).await.map(|ids| ids.len()) });
        for _ in 0..random.random_range(0..50) {
            let _: String = redis.run(&["PING"]).await;
        }
        server.shutdown_background();
        let is_made = creating.await.map(|made| assert_eq!(made.unwrap(), MANY)).is_ok();
        gone(&redis, clients).await;
        finished(&redis, &store).await;
        let many = count(&redis).await;
        let is_there = many == there + MANY;
        assert!(is_there || many == there && !is_made, "{name}: {many} after {there}");
        there = many;
        broken_off[usize::from(is_there)] += usize::from(!is_made);
        if name == "dependents" {
            let expected = if is_there { ("1".to_owned(), 1, 1) } else { ("0".to_owned(), 0, 0) };
            for other in [&others[0], &others[MANY - 1]] {
                assert_eq!(waits_for(&redis, other).await, expected);
            }
        }
    }
    println!("broken off: {} are not there, {} are", broken_off[0], broken_off[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_that_is_full_at_any_step_has_all_of_a_group_of_any_shape_or_none() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dispatcher = alone(&redis).await;
    let mut refused = 0;
    for (round, name) in SHAPES.iter().enumerate() {
        for kilobytes in [50, 100, 200, 300, 400, 600] {
            let others = dispatcher.jobs().create_many(vec![spec("1"); MANY]).await.unwrap();
            let there = count(&redis).await;
            let used = redis.memory("used_memory").await;
            let _: () = redis.run(&["CONFIG", "SET", "maxmemory", &(used + kilobytes * 1000).to_string()]).await;
            let made = dispatcher.jobs().create_many(shape(name, &others, round * 10_000 + kilobytes as usize)).await;
            let _: () = redis.run(&["CONFIG", "SET", "maxmemory", "0"]).await;
            finished(&redis, &store).await;
            let expected = if made.is_ok() { there + MANY } else { there };
            assert_eq!(count(&redis).await, expected, "{name}: {made:?}");
            refused += usize::from(made.is_err());
            if made.is_err() {
                assert_eq!(waits_for(&redis, &others[7]).await, ("0".to_owned(), 0, 0), "{name}");
            }
        }
    }
    assert!(refused > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_whose_server_ended_is_the_same_when_it_is_sent_again_at_once() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut random = random();
    for round in 0..20 {
        let own = ids(MANY);
        let keyed = |at: usize| JobSpec { idempotency_key: Some(format!("{round}-{at}")), ..spec("1") };
        let group: Vec<JobSpec> = (0..MANY).map(|at| if at % 2 == 0 { named(&own[at], keyed(at)) } else { keyed(at) }).collect();
        let (first, again) = (alone(&redis).await, alone(&redis).await);
        let sent = group.clone();
        let server = a_process();
        let creating = server.spawn(async move { first.jobs().create_many(sent).await });
        for _ in 0..random.random_range(0..25) {
            let _: String = redis.run(&["PING"]).await;
        }
        server.shutdown_background();
        let before = creating.await;
        let made = again.jobs().create_many(group).await.unwrap();
        if let Ok(before) = before {
            assert_eq!(before.unwrap(), made);
        }
        // Who is told of a job finds it, whoever has it be there.
        for id in &made {
            assert_eq!(again.jobs().status(CONTEXT, id).await.unwrap(), Status::Created);
        }
        finished(&redis, &store).await;
        assert_eq!(count(&redis).await, (round + 1) * MANY);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_to_wait_for_a_large_group_waits_and_goes_on_with_it() {
    let (house, hand) = by_hand().await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        waiting.push(house.dispatcher.jobs().create(spec("1")).await.unwrap());
    }
    // One of them is named by all, one by one, and one is started before.
    let group: Vec<JobSpec> = (0..MANY)
        .map(|at| match at {
            0 => JobSpec { dependents: vec![waiting[0].clone(), waiting[1].clone()], ..spec("1") },
            _ => JobSpec { dependents: vec![waiting[0].clone()], ..spec("1") },
        })
        .collect();
    let ids = house.dispatcher.jobs().create_many(group).await.unwrap();
    for id in &waiting[..2] {
        assert_eq!(begin(&house, id).await, Status::WaitingForPrerequisites);
    }
    assert_eq!(begin(&house, &waiting[2]).await, Status::Dispatched);
    let job = house.store.jobs().get(&waiting[0]).await.unwrap().unwrap();
    assert_eq!(job.prerequisites, ids);
    for id in &ids {
        begin(&house, id).await;
    }
    hand.finish(&ids[0]).await;
    house.is(&waiting[1], Status::Dispatched).await;
    for id in &ids[1..] {
        assert_eq!(status(&house, &waiting[0]).await, Status::WaitingForPrerequisites);
        hand.finish(id).await;
    }
    house.is(&waiting[0], Status::Dispatched).await;
    until("no relations", || async { keys(&house.redis, "hero:rel:*").await.is_empty().then_some(()) }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_group_that_would_close_a_circle_of_jobs_that_are_there_is_refused_and_leaves_them_as_they_were() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let first = dispatcher.jobs().create(spec("1")).await.unwrap();
    let second = dispatcher.jobs().create(after(&[&first])).await.unwrap();
    let child = dispatcher.jobs().create(child_of(&second)).await.unwrap();
    let continuation = dispatcher.jobs().create(continuation_of(&second)).await.unwrap();
    let before = waits_for(&redis, &first).await;
    let closing = [
        JobSpec { dependents: vec![first.clone()], ..after(&[&second]) },
        JobSpec { dependents: vec![first.clone()], ..continuation_of(&second) },
        JobSpec { dependents: vec![first.clone()], ..child_of(&child) },
        JobSpec { parent_id: Some(second.clone()), ..after(&[&continuation]) },
        JobSpec { parent_id: Some(child.clone()), ..after(&[&continuation]) },
    ];
    for (at, closing) in closing.into_iter().enumerate() {
        let mut group = vec![JobSpec { dependents: vec![second.clone()], ..spec("1") }; MANY];
        group[100] = closing;
        let error = dispatcher.jobs().create_many(group).await.unwrap_err().to_string();
        assert!(error.contains("jobs[100]") && error.contains("would wait for each other"), "{at}: {error}");
        assert_eq!(waits_for(&redis, &first).await, before);
    }
    // And one that has begun cannot wait any more.
    dispatcher.jobs().start(CONTEXT, &first).await.unwrap();
    let mut group = vec![JobSpec { dependents: vec![continuation.clone()], ..spec("1") }; MANY];
    group[149] = JobSpec { dependents: vec![first.clone()], ..spec("1") };
    let error = dispatcher.jobs().create_many(group).await.unwrap_err().to_string();
    assert!(error.contains("jobs[149]") && error.contains("cannot wait any more"), "{error}");
    assert_eq!(waits_for(&redis, &continuation).await.2, 0);
    assert_eq!(keys(&redis, "hero:job:*").await.len(), 4);
}

/// Each alone closes no circle.
#[tokio::test(flavor = "multi_thread")]
async fn of_two_groups_of_two_servers_that_would_close_a_circle_together_one_is_created() {
    let redis = Redis::start().await;
    for _ in 0..8 {
        let servers: [Dispatcher; 2] = [alone(&redis).await, alone(&redis).await];
        let [a, b] = [servers[0].jobs().create(spec("1")).await.unwrap(), servers[0].jobs().create(spec("1")).await.unwrap()];
        let group = |before: &JobId, behind: &JobId| {
            let mut group = vec![spec("1"); MANY];
            group[70] = JobSpec { dependents: vec![behind.clone()], ..after(&[before]) };
            group
        };
        let (one, two) = tokio::join!(servers[0].jobs().create_many(group(&a, &b)), servers[1].jobs().create_many(group(&b, &a)));
        assert_eq!([&one, &two].iter().filter(|made| made.is_ok()).count(), 1, "{one:?} {two:?}");
        let refused = one.err().or(two.err()).unwrap();
        assert!(matches!(refused, Error::Entry { index: 70, .. }), "{refused:?}");
    }
}

/// It was held for a group whose server ended, and that somebody started it meanwhile changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_held_for_a_group_that_never_comes_goes_on() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let dispatcher = dispatcher([store.clone()], redis.directory());
    let other = dispatcher.jobs().create(spec("1")).await.unwrap();
    let (id, group, key) = (JobId::random(), JobId::random(), format!("hero:job:{other}"));
    // As it stands between two steps.
    let _: usize = redis.run(&["ZADD", "hero:q:staged", "1", &format!("{group} 1")]).await;
    let _: usize = redis.run(&["RPUSH", &format!("hero:staged:{group}:held"), &format!("{id} {other}")]).await;
    let held = [format!("waits:dependents:{id}"), group.to_string(), format!("prerequisite:{id}"), "1".to_owned()];
    let held: Vec<&str> = held.iter().map(String::as_str).collect();
    let words = [&["HSET", &key, "open", "1", "linked", "1", "more_prerequisites", "1"], held.as_slice()].concat();
    let _: usize = redis.run(&words).await;
    assert_eq!(dispatcher.jobs().start(CONTEXT, &other).await.unwrap(), Status::WaitingForPrerequisites);
    finished(&redis, &store).await;
    assert_eq!(store.jobs().get(&other).await.unwrap().unwrap().status, Status::Dispatched);
    assert_eq!(waits_for(&redis, &other).await, ("0".to_owned(), 0, 0));
}
