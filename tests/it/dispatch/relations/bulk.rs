//! Jobs created together: all or none, in one round trip, with references in any order.

use std::collections::{BTreeMap, BTreeSet};

use hero::dispatch::{Dispatcher, Error};
use hero::model::{JobId, JobSpec, Status};
use hero::store::{Created, NewJob};

use super::{after, begin, by_hand, child_of, continuation_of, create, history, leaves_nothing, named, status, when};
use crate::support::{CONTEXT, House, PATIENCE, Redis, dispatcher, spec};

async fn jobs(redis: &Redis) -> BTreeSet<String> {
    redis.run::<Vec<String>>(&["KEYS", "hero:job:*"]).await.into_iter().collect()
}

/// Everything but what is counted, and the time.
async fn contents(redis: &Redis) -> BTreeMap<String, String> {
    let mut contents = BTreeMap::new();
    let keys: Vec<String> = redis.run(&["KEYS", "*"]).await;
    for key in keys {
        let kind: String = redis.run(&["TYPE", &key]).await;
        let value: redis::Value = match kind.as_str() {
            "hash" => redis.run(&["HGETALL", &key]).await,
            "list" => redis.run(&["LRANGE", &key, "0", "-1"]).await,
            "zset" => redis.run(&["ZRANGE", &key, "0", "-1"]).await,
            "set" => redis.run(&["SMEMBERS", &key]).await,
            "stream" => redis.run(&["XLEN", &key]).await,
            _ => redis.run(&["GET", &key]).await,
        };
        contents.insert(key, format!("{value:?}"));
    }
    contents
}

/// A dispatcher without the loops that talk to Redis all the time.
async fn alone(redis: &Redis) -> Dispatcher {
    dispatcher([redis.store().await], redis.directory())
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_created_together_have_their_ids_in_order_and_run() {
    let house = House::open(2).await;
    let given = JobId::random();
    let specs = vec![spec("1"), named(&given, spec("2")), spec("3")];
    let ids = house.dispatcher.jobs().create_many(specs).await.unwrap();
    assert_eq!((ids.len(), &ids[1]), (3, &given));
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(status(&house, id).await, Status::Created);
        begin(&house, id).await;
        assert_eq!(house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await.unwrap().output, (at + 1).to_string());
    }
    let listed = house.dispatcher.jobs().list(CONTEXT, &hero::dispatch::JobFilter::default(), None, 10).await.unwrap();
    let listed: Vec<JobId> = listed.jobs.into_iter().rev().map(|job| job.job_id).collect();
    assert_eq!(listed, ids);
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_name_each_other_in_any_order() {
    let house = House::open(2).await;
    let [first, second, third, parent, child, continuation] = std::array::from_fn(|_| JobId::random());
    let specs = vec![
        named(&continuation, continuation_of(&parent)),
        named(&third, after(&[&second, &child])),
        named(&child, child_of(&parent)),
        named(&second, JobSpec { dependents: vec![parent.clone()], ..after(&[&first]) }),
        named(&parent, spec("sleep(0.05)")),
        named(&first, spec("sleep(0.05)")),
    ];
    let ids = house.dispatcher.jobs().create_many(specs).await.unwrap();
    for id in &ids {
        begin(&house, id).await;
    }
    for id in &ids {
        house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await.unwrap();
    }
    let history = history(&house.redis).await;
    for (before, behind) in [
        (&first, &second),
        (&second, &third),
        (&child, &third),
        (&second, &parent),
        (&parent, &child),
        (&child, &continuation),
        (&parent, &continuation),
    ] {
        assert!(when(&history, before, Status::Finished) < when(&history, behind, Status::Started), "{before} before {behind}");
    }
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_entry_leaves_everything_as_it_was_and_is_named_by_its_index() {
    // No loop of a server writes here meanwhile.
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    let there = dispatcher.jobs().create(spec("1")).await.unwrap();
    let dispatched = dispatcher.jobs().create(spec("1")).await.unwrap();
    dispatcher.jobs().start(CONTEXT, &dispatched).await.unwrap();
    let twice = JobId::random();
    let bad: Vec<(&str, JobSpec)> = vec![
        ("a missing prerequisite", after(&[&there, &JobId::random()])),
        ("a missing parent", child_of(&JobId::random())),
        ("a missing predecessor", continuation_of(&JobId::random())),
        ("a missing dependent", JobSpec { dependents: vec![JobId::random()], ..spec("1") }),
        ("a dependent that has begun", JobSpec { dependents: vec![dispatched.clone()], ..spec("1") }),
        ("an id that is taken", named(&there, spec("1"))),
        ("an id of another entry", named(&twice, spec("1"))),
        ("a script that is too large", spec(&" ".repeat(64 * 1024 + 1))),
        ("an unknown script type", JobSpec { script_type: "nobody".parse().unwrap(), ..spec("1") }),
        ("a timeout of nothing", JobSpec { timeout: hero::model::Seconds::new(0.0), ..spec("1") }),
        ("a log file elsewhere", JobSpec { log_path: Some("../../x".into()), ..spec("1") }),
        ("a cycle of one", {
            let own = JobId::random();
            named(&own, after(&[&own]))
        }),
    ];
    let before = contents(&redis).await;
    for (what, bad) in bad {
        let mut specs: Vec<JobSpec> = (0..20).map(|_| after(&[&there])).collect();
        specs[3] = named(&twice, after(&[&there]));
        specs[13] = bad;
        let error = dispatcher.jobs().create_many(specs).await.expect_err(what);
        assert!(!matches!(error, Error::Store { .. }), "{what}: {error:?}");
        let text = error.to_string();
        let words: Vec<&str> = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').collect();
        assert!(words.contains(&"13"), "{what}: {text:?} does not name the index 13");
        assert_eq!(contents(&redis).await, before, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_jobs_are_created_together_with_nothing() {
    let (house, _) = by_hand().await;
    let none = house.dispatcher.jobs().create_many(Vec::new()).await;
    assert!(matches!(&none, Ok(ids) if ids.is_empty()) || matches!(none, Err(Error::Invalid { .. })), "{none:?}");
    assert!(jobs(&house.redis).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_jobs_are_one_round_trip() {
    let redis = Redis::start().await;
    let dispatcher = alone(&redis).await;
    // The function is known to Redis from now on.
    let first = dispatcher.jobs().create_many(vec![spec("1")]).await.unwrap().remove(0);
    let specs: Vec<JobSpec> = (0..60).map(|at| if at % 2 == 0 { spec("1") } else { after(&[&first]) }).collect();
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let ids = dispatcher.jobs().create_many(specs).await.unwrap();
    let info: String = redis.run(&["INFO", "commandstats"]).await;
    // What a function calls is counted, too; only these come from outside.
    let calls = |command: &str| {
        let line = info.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.map_or(0, |rest| rest.split(',').next().unwrap().parse::<u64>().unwrap())
    };
    assert_eq!((calls("fcall"), calls("eval"), calls("script|load"), calls("multi")), (1, 0, 0, 0), "{info}");
    assert_eq!(jobs(&redis).await.len(), 61);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_jobs_that_wait_for_each_other_run() {
    let (house, hand) = by_hand().await;
    let ids: Vec<JobId> = (0..1_000).map(|_| JobId::random()).collect();
    // Each waits for its successor, which is stored behind it.
    let specs = ids.iter().enumerate().map(|(at, id)| named(id, ids.get(at + 1).map_or_else(|| spec("1"), |next| after(&[next]))));
    assert_eq!(house.dispatcher.jobs().create_many(specs.collect()).await.unwrap(), ids);
    futures_util::future::join_all(ids.iter().map(|id| begin(&house, id))).await;
    house.is(&ids[999], Status::Dispatched).await;
    house.is(&ids[0], Status::WaitingForPrerequisites).await;
    hand.fail(&ids[999]).await;
    super::ended_by(&house, &ids[0], &ids[1]).await;
    leaves_nothing(&house.redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_created_at_once_by_many_do_not_mix() {
    let (house, _) = by_hand().await;
    let groups = (0..20).map(|at| {
        let house = &house;
        async move {
            let [a, b] = std::array::from_fn(|_| JobId::random());
            let last = if at % 2 == 0 { after(&[&a]) } else { after(&[&JobId::random()]) };
            house.dispatcher.jobs().create_many(vec![named(&a, spec("1")), named(&b, last)]).await.map(|_| ())
        }
    });
    let results = futures_util::future::join_all(groups).await;
    let single = create(&house, spec("1")).await;
    for (at, result) in results.iter().enumerate() {
        assert_eq!(result.is_ok(), at % 2 == 0, "{result:?}");
    }
    assert_eq!(jobs(&house.redis).await.len(), 21);
    assert_eq!(status(&house, &single).await, Status::Created);
}

#[tokio::test(flavor = "multi_thread")]
async fn idempotency_keys_give_the_same_group_again_and_refuse_another() {
    let (house, _) = by_hand().await;
    let keyed = |key: &str, script: &str| JobSpec { idempotency_key: Some(key.into()), ..spec(script) };
    let group = || vec![keyed("a", "1"), keyed("b", "2"), keyed("c", "3")];
    let ids = house.dispatcher.jobs().create_many(group()).await.unwrap();
    begin(&house, &ids[0]).await;
    assert_eq!(house.dispatcher.jobs().create_many(group()).await.unwrap(), ids);
    assert_eq!(jobs(&house.redis).await.len(), 3);
    // Some of it is there already, the rest is new.
    let more = house.dispatcher.jobs().create_many(vec![keyed("d", "4"), keyed("b", "2")]).await.unwrap();
    assert_eq!((&more[1], jobs(&house.redis).await.len()), (&ids[1], 4));
    // One that means something else refuses all.
    let other = house.dispatcher.jobs().create_many(vec![keyed("e", "5"), keyed("b", "other")]).await.unwrap_err();
    assert!(matches!(&other, error if error.to_string().contains(ids[1].as_str())), "{other}");
    assert_eq!(jobs(&house.redis).await.len(), 4);
    let later = house.dispatcher.jobs().create_many(vec![keyed("e", "6")]).await.unwrap();
    assert_eq!((later.len(), jobs(&house.redis).await.len()), (1, 5));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_whose_answer_was_lost_is_not_created_twice() {
    let (house, _) = by_hand().await;
    let [a, b] = std::array::from_fn(|_| JobId::random());
    let group = || vec![named(&b, after(&[&a])), named(&a, spec("1"))];
    assert_eq!(house.dispatcher.jobs().create_many(group()).await.unwrap(), [b.clone(), a.clone()]);
    let again = house.dispatcher.jobs().create_many(group()).await.unwrap_err();
    assert!(matches!(&again, Error::Entry { error, .. } if matches!(&**error, Error::Exists { .. })), "{again:?}");
    // A key could turn a job that others name into an older one with another id.
    let keyed = JobSpec { idempotency_key: Some("k".into()), ..named(&JobId::random(), spec("1")) };
    let group = vec![after(&[keyed.job_id.as_ref().unwrap()]), keyed];
    let refused = house.dispatcher.jobs().create_many(group).await.unwrap_err().to_string();
    assert!(refused.contains("jobs[1]: idempotency_key"), "{refused}");
    assert_eq!(super::relatives(&house.redis, &a, "dependents").await, super::list_of(&[&b]));
    assert_eq!(jobs(&house.redis).await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_of_several_contexts_are_not_created_together() {
    let (house, _) = by_hand().await;
    let other = JobSpec { context_id: hero::model::ContextId(1), ..spec("1") };
    house.dispatcher.jobs().create_many(vec![spec("1"), other]).await.unwrap_err();
    assert!(jobs(&house.redis).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_does_not_fit_into_its_queue_is_refused_as_a_whole() {
    let redis = Redis::start().await;
    let store = redis.plan().with_room(3).store().await;
    let group = |size: usize| -> Vec<NewJob> {
        (0..size)
            .map(|_| NewJob { id: JobId::random(), spec: spec("1"), start: true, waited: false, occurrence: None, flow: None })
            .collect()
    };
    let too_many = store.jobs().create_all_or_none(&group(4)).await.unwrap();
    assert_eq!(too_many, [Created::None, Created::None, Created::None, Created::Full(3)]);
    assert!(jobs(&redis).await.is_empty());
    let fits = store.jobs().create_all_or_none(&group(3)).await.unwrap();
    assert_eq!(fits, vec![Created::Created(Status::Dispatched); 3]);
    assert_eq!((jobs(&redis).await.len(), redis.run::<i64>(&["LLEN", "hero:q:work:type:osis"]).await), (3, 3));
    assert_eq!(store.jobs().create_all_or_none(&group(1)).await.unwrap(), [Created::Full(3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_would_hold_redis_for_long_is_refused() {
    let (house, _) = by_hand().await;
    let named: Vec<JobId> = house.dispatcher.jobs().create_many(vec![spec("1"); 1000]).await.unwrap();
    let group = |jobs: usize| vec![after(&named.iter().collect::<Vec<_>>()); jobs];
    assert_eq!(house.dispatcher.jobs().create_many(group(2)).await.unwrap().len(), 2);
    let refused = house.dispatcher.jobs().create_many(group(3)).await.unwrap_err();
    assert!(matches!(&refused, Error::Invalid { param: "jobs", message } if message.contains("3000")), "{refused}");
    let large = |jobs: usize| vec![JobSpec { args: Some("x".repeat(1_000_000).into()), ..spec("1") }; jobs];
    assert_eq!(house.dispatcher.jobs().create_many(large(2)).await.unwrap().len(), 2);
    let refused = house.dispatcher.jobs().create_many(large(3)).await.unwrap_err();
    assert!(matches!(refused, Error::TooLarge { what: "jobs", .. }), "{refused}");
    assert_eq!(jobs(&house.redis).await.len(), 1_004);
}
