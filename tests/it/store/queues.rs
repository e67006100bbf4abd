//! Controls between queues and their actors: pauses, the limit of a context, turns between callers.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use hero::model::{JobId, JobSpec, Output, OutputFormat, Priority, Queue, ScriptType, Status, Target, Timestamp};
use hero::store::{ActorRoom, AttemptEnd, Created, Ended, Fetch, Fetched, NewJob, Retried, Store};

use crate::support::Redis;

fn job_of(caller: &str) -> NewJob {
    let spec = JobSpec { script: "1".into(), caller_id: Some(caller.into()), ..JobSpec::default() };
    NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None }
}

async fn put(store: &Store, job: NewJob) -> JobId {
    let id = job.id.clone();
    assert_eq!(store.jobs().create(job).await.unwrap(), Created::Created(Status::Dispatched));
    id
}

async fn put_many(store: &Store, caller: &str, number: usize) -> Vec<JobId> {
    let mut ids = Vec::new();
    for _ in 0..number {
        ids.push(put(store, job_of(caller)).await);
    }
    ids
}

fn of_type(script_type: &str) -> Queue {
    Queue { script_type: script_type.parse().unwrap(), target: Target::Type, priority: Priority::Normal }
}

/// One fetch of a pool of a type, with its queues in the order of service.
async fn take(store: &Store, script_type: &str, ends: &[Ended], room: usize, fair: bool) -> Fetched {
    let queues: Vec<(String, usize)> =
        [":prio:0", ":group:io", "", ":prio:2"].map(|suffix| (format!("hero:q:work:type:{script_type}{suffix}"), 0)).into();
    let actors = [ActorRoom { actor: format!("{script_type}:io:1"), room }];
    let script_type: ScriptType = script_type.parse().unwrap();
    let actors = if room == 0 { &[][..] } else { &actors[..] };
    let queues = if room == 0 { &[][..] } else { &queues[..] };
    let fetch = Fetch { script_type: &script_type, ends, actors, queues };
    if fair { store.queues().fair_fetch(&fetch).await.unwrap() } else { store.queues().fetch(&fetch).await.unwrap() }
}

fn ids(fetched: &Fetched) -> Vec<JobId> {
    fetched.taken.iter().map(|job| job.job.clone()).collect()
}

fn finished(id: &JobId) -> Ended {
    let outcome = AttemptEnd::Finished(Output { text: "1".into(), format: OutputFormat::Json });
    Ended::of(id.clone(), 1, 1, Timestamp::local(), outcome)
}

/// Every key of turns between callers.
async fn traces(redis: &Redis) -> Vec<String> {
    let mut keys: Vec<String> = redis.run(&["KEYS", "hero:q:fair:*"]).await;
    keys.extend(redis.run::<Vec<String>>(&["KEYS", "hero:meta:fair"]).await);
    keys
}

async fn length(redis: &Redis, key: &str) -> usize {
    redis.run(&["LLEN", key]).await
}

#[tokio::test]
async fn nothing_is_taken_from_a_paused_queue_in_any_priority_and_all_from_others() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut waiting = Vec::new();
    for priority in [Priority::Urgent, Priority::Normal, Priority::Low] {
        let mut job = job_of("ann");
        job.spec.priority = priority;
        waiting.push(put(&store, job).await);
    }
    let mut other = job_of("ann");
    other.spec.group = Some("io".parse().unwrap());
    let other = put(&store, other).await;
    for _ in 0..2 {
        store.queues().pause(&of_type("osis")).await.unwrap();
    }
    for fair in [false, true] {
        let fetched = take(&store, "osis", &[], 9, fair).await;
        assert_eq!(ids(&fetched), if fair { vec![] } else { vec![other.clone()] });
        assert!(!fetched.more);
    }
    let paused: Vec<(String, u64)> =
        store.queues().list().await.unwrap().into_iter().filter(|queue| queue.paused).map(|queue| (queue.name, queue.depth)).collect();
    assert_eq!(paused, ["", ":prio:0", ":prio:2"].map(|suffix| (format!("hero:q:work:type:osis{suffix}"), 1)));
    for _ in 0..2 {
        store.queues().resume(&of_type("osis")).await.unwrap();
    }
    assert_eq!(ids(&take(&store, "osis", &[], 9, false).await), waiting);
    let left: Vec<String> = redis.run(&["KEYS", "hero:meta:paused"]).await;
    assert!(left.is_empty());
}

#[tokio::test]
async fn an_empty_queue_that_is_paused_is_listed() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let queue = Queue { target: Target::Instance("io".parse().unwrap(), 3), ..of_type("sal") };
    store.queues().pause(&queue).await.unwrap();
    let queues = store.queues().list().await.unwrap();
    assert_eq!(queues.len(), 1);
    assert_eq!((queues[0].name.as_str(), queues[0].instance, queues[0].paused), ("hero:q:work:type:sal:group:io:inst:3", Some(3), true));
}

#[tokio::test]
async fn a_job_does_not_start_at_once_past_a_pause_or_a_limit_or_sorted_jobs() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let osis: ScriptType = "osis".parse().unwrap();
    let (direct_start, _started) = store.direct_starts().open(&osis, vec!["osis:io:1".into()], vec!["hero:q:work:type:osis".into()], None);
    let create = async || {
        direct_start.set_room(1);
        store.jobs().create(job_of("ann")).await.unwrap()
    };
    assert_eq!(create().await, Created::Created(Status::Started));
    store.queues().pause(&of_type("osis")).await.unwrap();
    assert_eq!(create().await, Created::Created(Status::Dispatched));
    store.queues().resume(&of_type("osis")).await.unwrap();
    assert_eq!(take(&store, "osis", &[], 9, false).await.taken.len(), 1);
    assert_eq!(create().await, Created::Created(Status::Started));
    store.limits().set_running(3);
    assert_eq!(create().await, Created::Created(Status::Dispatched));
    store.limits().set_running(4);
    put_many(&store, "ann", 1).await;
    assert_eq!(take(&store, "osis", &[], 1, true).await.taken.len(), 1);
    assert_eq!(length(&redis, "hero:q:work:type:osis").await, 0, "one job is sorted");
    store.limits().set_running(0);
    assert_eq!(create().await, Created::Created(Status::Dispatched));
}

#[tokio::test]
async fn no_more_jobs_run_than_may_whoever_takes_them() {
    let redis = Redis::start().await;
    let (one, other) = (redis.store().await, redis.store().await);
    one.limits().set_running(3);
    other.limits().set_running(3);
    put_many(&one, "ann", 10).await;
    let first = ids(&take(&one, "osis", &[], 8, false).await);
    assert_eq!(first.len(), 3);
    assert!(take(&other, "osis", &[], 8, false).await.taken.is_empty());
    take(&one, "osis", &[finished(&first[0])], 0, false).await;
    assert_eq!(take(&other, "osis", &[], 8, true).await.taken.len(), 1);
    // What ends makes room in the same step.
    let next = take(&one, "osis", &[finished(&first[1]), finished(&first[2])], 8, false).await;
    assert_eq!(next.taken.len(), 2, "sorted jobs, too");
    let running: usize = redis.run(&["ZCARD", "hero:q:leases"]).await;
    assert_eq!(running, 3);
}

#[tokio::test]
async fn room_in_a_context_goes_to_the_type_that_has_waited_longest() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.limits().set_running(1);
    put_many(&store, "ann", 3).await;
    let mut of_sal = job_of("ann");
    of_sal.spec.script_type = "sal".parse().unwrap();
    let of_sal = put(&store, of_sal).await;
    let first = ids(&take(&store, "osis", &[], 1, false).await);
    assert!(take(&store, "sal", &[], 1, false).await.taken.is_empty());
    assert!(take(&store, "osis", &[finished(&first[0])], 1, false).await.taken.is_empty(), "sal came first");
    assert_eq!(ids(&take(&store, "sal", &[], 1, false).await), std::slice::from_ref(&of_sal));
    assert!(take(&store, "osis", &[], 1, false).await.taken.is_empty());
    let _ = take(&store, "sal", &[finished(&of_sal)], 1, false).await;
    assert_eq!(take(&store, "osis", &[], 1, false).await.taken.len(), 1);
}

#[tokio::test]
async fn a_type_whose_actors_are_gone_keeps_nobody_from_running() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.limits().set_running(1);
    put_many(&store, "ann", 2).await;
    let mut of_sal = job_of("ann");
    of_sal.spec.script_type = "sal".parse().unwrap();
    put(&store, of_sal).await;
    let first = ids(&take(&store, "osis", &[], 1, false).await);
    assert!(take(&store, "sal", &[], 1, false).await.taken.is_empty());
    assert!(take(&store, "osis", &[finished(&first[0])], 1, false).await.taken.is_empty());
    store.clock().advance(Duration::from_secs(6));
    assert_eq!(take(&store, "osis", &[], 1, false).await.taken.len(), 1);
    // Nor does one whose queue is paused.
    store.queues().pause(&of_type("sal")).await.unwrap();
    assert!(take(&store, "sal", &[], 1, false).await.taken.is_empty());
    let in_line: Vec<String> = redis.run(&["ZRANGE", "hero:q:capped", "0", "-1"]).await;
    assert!(in_line.is_empty(), "{in_line:?}");
}

#[tokio::test]
async fn callers_take_turns_and_each_job_is_taken_once() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut given: HashSet<JobId> = put_many(&store, "ann", 200).await.into_iter().collect();
    let of_bob = put_many(&store, "bob", 5).await;
    given.extend(of_bob.iter().cloned());
    let mut taken = Vec::new();
    while taken.len() < 205 {
        let fetched = take(&store, "osis", &[], 2, true).await;
        assert!(!fetched.taken.is_empty());
        taken.extend(ids(&fetched));
    }
    let first: Vec<JobId> = taken.iter().take(10).filter(|id| of_bob.contains(id)).cloned().collect();
    assert_eq!(first, of_bob, "within a caller the oldest comes first");
    assert_eq!(taken.iter().cloned().collect::<HashSet<_>>(), given);
    assert!(take(&store, "osis", &[], 2, true).await.taken.is_empty());
    assert_eq!(traces(&redis).await, Vec::<String>::new());
}

#[tokio::test]
async fn many_callers_get_the_same_and_priority_comes_first() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for number in 0..30 {
        put_many(&store, &format!("caller {}", number % 3), 10 * (number % 3)).await;
    }
    let mut urgent = job_of("caller 1");
    urgent.spec.priority = Priority::Urgent;
    let urgent = put(&store, urgent).await;
    let fetched = take(&store, "osis", &[], 41, true).await;
    assert_eq!(fetched.taken[0].job, urgent);
    let mut of: BTreeMap<String, usize> = BTreeMap::new();
    for job in &fetched.taken[1..] {
        *of.entry(job.caller_id.clone().unwrap()).or_default() += 1;
    }
    assert_eq!(of, [("caller 1".into(), 20), ("caller 2".into(), 20)].into());
}

#[tokio::test]
async fn sorted_jobs_count_where_the_length_of_a_queue_counts() {
    let redis = Redis::start().await;
    let store = redis.plan().with_room(5).store().await;
    let waiting = NewJob { start: false, ..job_of("ann") };
    let waiting_id = waiting.id.clone();
    store.jobs().create(waiting).await.unwrap();
    put_many(&store, "ann", 5).await;
    let taken = ids(&take(&store, "osis", &[], 1, true).await);
    assert_eq!((taken.len(), length(&redis, "hero:q:work:type:osis").await), (1, 0));
    put_many(&store, "bob", 1).await;
    assert_eq!(store.jobs().create(job_of("ann")).await.unwrap(), Created::Full(5));
    assert_eq!(store.jobs().start(&waiting_id).await.unwrap(), hero::store::Started::Full(5));
    take(&store, "osis", &[finished(&taken[0])], 0, false).await;
    assert_eq!(store.jobs().retry(&taken[0]).await.unwrap(), Retried::Full(5));
    let queues = store.queues().list().await.unwrap();
    assert_eq!(queues.iter().map(|queue| (queue.name.as_str(), queue.depth)).collect::<Vec<_>>(), [("hero:q:work:type:osis", 5)]);
}

#[tokio::test]
async fn a_pool_without_turns_gets_sorted_jobs_too_and_before_newer_ones() {
    let redis = Redis::start().await;
    let (fair, plain) = (redis.store().await, redis.store().await);
    let of_ann = put_many(&fair, "ann", 4).await;
    assert_eq!(ids(&take(&fair, "osis", &[], 1, true).await), of_ann[..1]);
    let newer = put_many(&fair, "ann", 2).await;
    assert_eq!(ids(&take(&plain, "osis", &[], 9, false).await), [&of_ann[1..], &newer].concat());
    assert_eq!(traces(&redis).await, Vec::<String>::new());
    let newest = put_many(&fair, "ann", 1).await;
    assert_eq!(ids(&take(&plain, "osis", &[], 9, false).await), newest);
}

#[tokio::test]
async fn callers_without_jobs_that_another_program_adds_hold_up_no_call() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let of_ann = put_many(&store, "ann", 2).await;
    assert_eq!(ids(&take(&store, "osis", &[], 1, true).await), of_ann[..1]);
    let [ring] = &*redis.run::<Vec<String>>(&["KEYS", "*:ring*"]).await else { panic!("one ring") };
    let many = "for at = 1, 1000 do redis.call('RPUSH', KEYS[1], 'nobody' .. at) end";
    let _: () = redis.run(&["EVAL", many, "1", ring]).await;
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let nobody = take(&store, "osis", &[], 1, true).await;
    assert!(ids(&nobody).is_empty() && nobody.more, "{nobody:?}");
    assert!(redis.calls("lmove").await < 300);
    for _ in 0..4 {
        assert!(ids(&take(&store, "osis", &[], 1, true).await).len() <= 1);
    }
    assert_eq!(length(&redis, ring).await, 0);
}

#[tokio::test]
async fn what_is_no_job_any_more_is_dropped_from_among_sorted_ones() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let of_ann = put_many(&store, "ann", 4).await;
    let _: i64 = redis.run(&["RPUSH", "hero:q:work:type:osis", "no id"]).await;
    assert_eq!(ids(&take(&store, "osis", &[], 1, true).await), of_ann[..1]);
    store.jobs().stop(&of_ann[1]).await.unwrap();
    store.jobs().delete(&of_ann[2]).await.unwrap();
    assert_eq!(ids(&take(&store, "osis", &[], 9, true).await), of_ann[3..]);
    take(&store, "osis", &[], 9, true).await;
    assert_eq!(traces(&redis).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_requeued_job_is_the_next_of_its_caller() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let (of_ann, of_bob) = (put_many(&store, "ann", 4).await, put_many(&store, "bob", 2).await);
    let taken = ids(&take(&store, "osis", &[], 4, true).await);
    assert_eq!(taken, [&of_ann[0], &of_bob[0], &of_ann[1], &of_bob[1]].map(Clone::clone));
    // The one that is to come first goes last.
    let back: Vec<Ended> = [&taken[2], &taken[0]].map(|id| Ended::of(id.clone(), 1, 1, Timestamp::local(), AttemptEnd::Requeued)).into();
    take(&store, "osis", &back, 0, true).await;
    assert_eq!(ids(&take(&store, "osis", &[], 9, true).await), of_ann);
}

#[tokio::test]
async fn a_sorted_job_is_in_a_queue_for_those_who_look_after_it() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    put_many(&store, "ann", 3).await;
    take(&store, "osis", &[], 1, true).await;
    for _ in 0..3 {
        store.clock().advance(Duration::from_secs(20));
        store.queues().reap(128).await.unwrap();
    }
    let counters = store.queues().counters().await.unwrap();
    assert!(!counters[&"osis".parse().unwrap()].contains_key("pushed_again"), "{counters:?}");
}

#[tokio::test]
async fn of_sets_that_foreign_programs_fill_a_list_reads_a_bounded_part_and_says_so() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    put(&store, job_of("ann")).await;
    store.queues().pause(&of_type("osis")).await.unwrap();
    assert!(store.health().overfull().await.unwrap().is_empty() && store.health().info().await.unwrap().warnings.is_empty());
    let invent = "for at = 1, 60000 do redis.call('SADD', KEYS[1], ARGV[1] .. at) end return redis.call('SCARD', KEYS[1])";
    for (set, member) in [
        ("hero:meta:actors", "hero:meta:actor:inst:osis:default:"),
        ("hero:meta:paused", "hero:q:work:type:osis:group:g"),
        ("hero:meta:queues", "hero:q:work:type:sal:group:g"),
    ] {
        let _: u64 = redis.run(&["EVAL", invent, "1", set, member]).await;
    }
    let presence = "{\"incarnation\":\"x\"}";
    let _: () = redis.run(&["SET", "hero:meta:actor:inst:osis:default:7", presence, "EX", "60"]).await;
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    let queues = store.queues().list().await.unwrap();
    assert!((20_000..25_000).contains(&queues.len()), "{}", queues.len());
    assert!(queues.iter().filter(|queue| queue.script_type.as_str() == "osis").all(|queue| queue.paused));
    store.actors().list().await.unwrap();
    // Each of the sets is read in pages, up to 20,000.
    assert_eq!(redis.calls("smembers").await, 0);
    let (pages, reads) = (redis.calls("sscan").await, redis.calls("get").await);
    assert!(pages <= 100 && reads <= 90_000, "{pages} pages, {reads} reads");
    let says = |said: &[String], sets: usize| assert_eq!(said.iter().filter(|words| words.contains("lists leave some out")).count(), sets);
    says(&store.health().overfull().await.unwrap(), 3);
    says(&store.health().info().await.unwrap().warnings, 3);
    // What nobody has is forgotten, and then all are shown.
    store.maintenance().tidy().await.unwrap();
    says(&store.health().overfull().await.unwrap(), 1);
    assert_eq!(store.actors().list().await.unwrap().iter().map(|actor| actor.instance).collect::<Vec<_>>(), [7]);
}
