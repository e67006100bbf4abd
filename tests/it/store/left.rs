//! Removing a job from the middle of a long queue leaves its id there. The id is dropped when it reaches the front.

use futures_util::{StreamExt as _, stream};
use hero::model::{JobId, JobSpec, Priority, Queue, ScriptType, Status, Target};
use hero::store::{Created, NewJob, Retried, Store};
use rand::seq::SliceRandom as _;

use super::fetch;
use crate::support::{Redis, random};

const QUEUE: &str = "hero:q:work:type:osis";

/// Adds this number of jobs to the queue, in this order.
async fn fill(store: &Store, many: usize) -> Vec<JobId> {
    let put = |id: JobId| async move {
        let spec = JobSpec { script: "1".into(), ..JobSpec::default() };
        let job = NewJob { id: id.clone(), spec, start: true, waited: false, occurrence: None, flow: None };
        assert_eq!(store.jobs().create(job).await.unwrap(), Created::Created(Status::Dispatched));
        id
    };
    stream::iter((0..many).map(|_| put(JobId::random()))).buffered(1).collect().await
}

async fn length(redis: &Redis) -> usize {
    redis.run(&["LLEN", QUEUE]).await
}

/// The number of waiting jobs that callers see.
async fn depth(store: &Store) -> u64 {
    let queue = Queue { script_type: ScriptType::osis(), target: Target::Type, priority: Priority::Normal };
    let told = store.queues().list().await.unwrap().into_iter().find(|queue| queue.name == QUEUE).map_or(0, |queue| queue.depth);
    assert_eq!(store.queues().position(&JobId::random(), &queue, false).await.unwrap().depth, told);
    told
}

/// The notes about ids that were left in the queue.
async fn notes(redis: &Redis) -> Vec<String> {
    let mut keys: Vec<String> = redis.run(&["KEYS", "hero:q:left:*"]).await;
    keys.extend(redis.run::<Vec<String>>(&["KEYS", "hero:meta:left"]).await);
    keys
}

/// Fetches everything, in order.
async fn take_all(store: &Store) -> Vec<JobId> {
    let mut taken = Vec::new();
    loop {
        let fetched = fetch(store, &[], 64).await;
        if fetched.taken.is_empty() && !fetched.more {
            return taken;
        }
        taken.extend(fetched.taken.into_iter().map(|job| job.job));
    }
}

#[tokio::test]
async fn a_stop_is_never_looked_for_through_a_whole_queue_and_what_is_left_is_dropped() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut jobs = fill(&store, 2_600).await;
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    for _ in 0..300 {
        store.jobs().stop(&jobs.remove(1_150)).await.unwrap();
    }
    // As near to the ends as they are searched, ids are taken out at once.
    let near = [jobs.remove(0), jobs.remove(1), jobs.remove(jobs.len() - 2)];
    for job in &near {
        store.jobs().stop(job).await.unwrap();
    }
    assert_eq!((redis.calls("lrem").await, length(&redis).await), (3, 2_597));
    assert_eq!(depth(&store).await, jobs.len() as u64);
    assert_eq!(notes(&redis).await.len(), 2);
    assert_eq!(take_all(&store).await, jobs);
    assert_eq!((length(&redis).await, depth(&store).await), (0, 0));
    assert!(notes(&redis).await.is_empty());
}

#[tokio::test]
async fn a_job_that_runs_again_while_its_id_was_left_runs_once_and_in_its_new_place() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut jobs = fill(&store, 2_400).await;
    let again = jobs.remove(1_200);
    for round in 1..=2 {
        store.jobs().stop(&again).await.unwrap();
        // So far that the second stop does not find it either.
        if round == 2 {
            break;
        }
        assert!(matches!(store.jobs().retry(&again).await.unwrap(), Retried::OnItsWay(_)));
        jobs.extend(fill(&store, 1_100).await);
    }
    assert!(matches!(store.jobs().retry(&again).await.unwrap(), Retried::OnItsWay(_)));
    assert_eq!((length(&redis).await, depth(&store).await), (2_400 + 1_100 + 2, jobs.len() as u64 + 1));
    jobs.push(again);
    jobs.extend(fill(&store, 1).await);
    assert_eq!(take_all(&store).await, jobs);
    assert!(notes(&redis).await.is_empty());
}

#[tokio::test]
async fn where_nobody_takes_jobs_what_stops_left_goes_all_the_same() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut jobs = fill(&store, 4_000).await;
    jobs.shuffle(&mut random());
    for job in &jobs {
        store.jobs().stop(job).await.unwrap();
    }
    // What was left counts for half of the queue at most.
    assert_eq!(depth(&store).await, length(&redis).await as u64 / 2);
    let mut before = 4_000;
    while length(&redis).await > 0 {
        assert!(length(&redis).await < before, "{before} stay");
        before = length(&redis).await;
        store.queues().reap(16).await.unwrap();
    }
    // Where another program took what was left, that is forgotten, too.
    let jobs = fill(&store, 2_200).await;
    store.jobs().stop(&jobs[1_100]).await.unwrap();
    assert_eq!(notes(&redis).await.len(), 2);
    let _: () = redis.run(&["DEL", QUEUE]).await;
    store.queues().reap(16).await.unwrap();
    assert!(notes(&redis).await.is_empty());
}

#[tokio::test]
async fn callers_are_told_as_many_jobs_as_the_limit_of_a_queue_counts() {
    let redis = Redis::start().await;
    let store = redis.plan().with_room(5).store().await;
    let jobs = fill(&store, 5).await;
    store.jobs().stop(&jobs[0]).await.unwrap();
    fill(&store, 1).await;
    // It says more than there is.
    let _: i64 = redis.run(&["HSET", "hero:q:left:type:osis", "all", "1000"]).await;
    let _: i64 = redis.run(&["SADD", "hero:meta:left", QUEUE]).await;
    assert_eq!(depth(&store).await, 2);
    fill(&store, 5).await;
    assert_eq!((length(&redis).await, depth(&store).await), (10, 5));
    let spec = JobSpec { script: "1".into(), ..JobSpec::default() };
    let one_more = NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None };
    assert_eq!(store.jobs().create(one_more).await.unwrap(), Created::Full(5));
}

#[tokio::test]
async fn stops_are_told_once_and_not_looked_for_through_a_long_queue_of_them() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let job = fill(&store, 1).await.remove(0);
    let (key, stops) = (format!("hero:job:{job}"), "hero:q:ctl:type:osis");
    let _: i64 = redis.run(&["HSET", &key, "status", "started"]).await;
    // The legacy layout would tell its worker, too.
    let _: i64 = redis.run(&["HDEL", &key, "worker_id"]).await;
    let others: Vec<String> = (0..3_000).map(|_| JobId::random().to_string()).collect();
    let words: Vec<&str> = ["LPUSH", stops].into_iter().chain(others.iter().map(String::as_str)).collect();
    let _: i64 = redis.run(&words).await;
    let _: () = redis.run(&["CONFIG", "RESETSTAT"]).await;
    store.jobs().stop(&job).await.unwrap();
    let told = async || (redis.calls("lrem").await, redis.run::<usize>(&["LLEN", stops]).await);
    assert_eq!(told().await, (0, 3_001));
    store.jobs().stop(&job).await.unwrap();
    assert_eq!(told().await, (1, 3_001));
    let words: Vec<&str> = ["LPUSH", stops].into_iter().chain(others[..1_500].iter().map(String::as_str)).collect();
    let _: i64 = redis.run(&words).await;
    store.jobs().stop(&job).await.unwrap();
    assert_eq!(told().await, (1, 4_501));
    // What runs again has none of them, as far as they are near.
    let _: String = redis.run(&["LTRIM", stops, "1000", "-1"]).await;
    let _: i64 = redis.run(&["HSET", &key, "status", "error"]).await;
    assert!(matches!(store.jobs().retry(&job).await.unwrap(), Retried::OnItsWay(_)));
    assert_eq!(told().await, (2, 3_500));
}

#[tokio::test]
async fn ids_left_in_a_queue_never_exceed_its_limit() {
    let redis = Redis::start().await;
    let store = redis.plan().with_room(2_500).store().await;
    let first = fill(&store, 2_500).await;
    let new = || NewJob {
        id: JobId::random(),
        spec: JobSpec { script: "1".into(), ..JobSpec::default() },
        start: true,
        waited: false,
        occurrence: None,
        flow: None,
    };
    assert_eq!(store.jobs().create(new()).await.unwrap(), Created::Full(2_500));
    for job in &first[1_001..1_400] {
        store.jobs().stop(job).await.unwrap();
    }
    // What was left takes no place.
    assert_eq!((length(&redis).await, depth(&store).await), (2_500, 2_101));
    fill(&store, 399).await;
    assert!(matches!(store.jobs().create(new()).await.unwrap(), Created::Full(_)));
    assert_eq!(depth(&store).await, 2_500);
}

#[tokio::test]
async fn a_deleted_job_that_was_sorted_by_caller_does_not_count_any_more() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut jobs = fill(&store, 6).await;
    let script_type = ScriptType::osis();
    let actors = [hero::store::ActorRoom { actor: "osis:default:1".into(), room: 1 }];
    let queues = [(QUEUE.to_owned(), 0)];
    let sorting = hero::store::Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues };
    let first = store.queues().fair_fetch(&sorting).await.unwrap().taken.remove(0).job;
    assert_eq!((first, length(&redis).await, depth(&store).await), (jobs.remove(0), 0, 5));
    let gone = jobs.remove(2);
    store.jobs().delete(&gone).await.unwrap();
    store.jobs().stop(&jobs.remove(0)).await.unwrap();
    assert_eq!(depth(&store).await, 3);
    assert_eq!(take_all(&store).await, jobs);
    let unwritten: usize = redis.run(&["ZCARD", "hero:q:unwritten"]).await;
    assert_eq!((unwritten, depth(&store).await), (0, 0));
    assert!(notes(&redis).await.is_empty());
}
