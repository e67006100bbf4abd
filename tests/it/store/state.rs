//! The table of `Status::on`, checked against the real functions.

use std::time::Duration;

use hero::model::{ErrorKind, Event, JobError, JobId, JobSpec, Next, Output, OutputFormat, Status};
use hero::store::{ActorRoom, AttemptEnd, Created, Ended, Fetch, NewJob, Started, Stopping, Store};

use super::fetch;
use crate::support::Redis;

fn job() -> NewJob {
    NewJob {
        id: JobId::random(),
        spec: JobSpec { script: "40 + 2".into(), ..JobSpec::default() },
        start: false,
        waited: false,
        occurrence: None,
        flow: None,
    }
}

fn ended(id: &JobId, attempt: u32, outcome: AttemptEnd) -> Ended {
    Ended::of(id.clone(), attempt, attempt, hero::model::Timestamp::local(), outcome)
}

fn finished() -> AttemptEnd {
    AttemptEnd::Finished(Output { text: "42".into(), format: OutputFormat::Json })
}

fn failed() -> AttemptEnd {
    AttemptEnd::Failed { error: JobError::new(ErrorKind::Script, "no"), retry_in: Duration::from_secs(5) }
}

/// Brings a new job to a status by the shortest way.
async fn at(store: &Store, status: Status) -> JobId {
    let mut new = job();
    let id = new.id.clone();
    match status {
        Status::Created => assert_eq!(store.jobs().create(new).await.unwrap(), Created::Created(status)),
        Status::Scheduled => {
            let mut new = NewJob { start: true, ..new };
            new.spec.run_at = Some(store.clock().now().plus(Duration::from_secs(3600)));
            assert_eq!(store.jobs().create(new).await.unwrap(), Created::Created(status));
        }
        Status::WaitingForPrerequisites => {
            let other = NewJob { start: true, ..job() };
            new.spec.prerequisites = vec![other.id.clone()];
            store.jobs().create(other).await.unwrap();
            fetch(store, &[], 1).await;
            assert_eq!(store.jobs().create(NewJob { start: true, ..new }).await.unwrap(), Created::Created(status));
        }
        _ => {
            assert_eq!(store.jobs().create(NewJob { start: true, ..new }).await.unwrap(), Created::Created(Status::Dispatched));
            if status != Status::Dispatched {
                assert_eq!(fetch(store, &[], 1).await.taken[0].job, id);
            }
            match status {
                Status::Finished => drop(fetch(store, &[ended(&id, 1, finished())], 0).await),
                Status::Error => drop(fetch(store, &[ended(&id, 1, failed())], 0).await),
                _ => {}
            }
        }
    }
    assert_eq!(now(store, &id).await, status);
    id
}

/// A running job that another one waits for, whatever that one's status is.
async fn prerequisite(redis: &Redis, store: &Store, id: &JobId) -> JobId {
    let waits_for: Vec<String> = store.jobs().get(id).await.unwrap().unwrap().prerequisites.iter().map(ToString::to_string).collect();
    if let [other] = &waits_for[..] {
        return other.parse().unwrap();
    }
    let other = NewJob { start: true, ..job() };
    let other_id = other.id.clone();
    store.jobs().create(NewJob { spec: JobSpec { priority: hero::model::Priority::Urgent, ..other.spec }, ..other }).await.unwrap();
    let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis:prio:0".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: 1 }];
    store.queues().fetch(&Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues }).await.unwrap();
    let _: i64 = redis.run(&["RPUSH", &format!("hero:rel:{other_id}:dependents"), id.as_str()]).await;
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{other_id}"), "rel", "-"]).await;
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "open", "1", &format!("waits:dependents:{other_id}"), "1"]).await;
    other_id
}

async fn now(store: &Store, id: &JobId) -> Status {
    store.jobs().get(id).await.unwrap().unwrap().status
}

/// Makes a job what the event says of it, whatever its status is.
async fn prepare(redis: &Redis, store: &Store, id: &JobId, event: Event) {
    let key = format!("hero:job:{id}");
    let later = store.clock().now().plus(Duration::from_secs(3600)).as_millis().to_string();
    let [field, value] = match event {
        Event::Started { next: Next::Later } => ["run_at_ms", &later],
        Event::Started { next: Next::Blocked } | Event::Due { blocked: true } | Event::Retried { blocked: true } => {
            let other = prerequisite(redis, store, id).await;
            ["prerequisites", &format!("[\"{other}\"]")]
        }
        Event::Failed { retry } => ["retries", if retry { "1" } else { "0" }],
        Event::LeaseLost { last } => ["crashes", if last { "2" } else { "0" }],
        _ => return,
    };
    let _: i64 = redis.run(&["HSET", &key, field, value]).await;
}

/// Calls the function for an event.
async fn put(redis: &Redis, store: &Store, id: &JobId, event: Event) {
    let attempt = store.jobs().get(id).await.unwrap().unwrap().attempt;
    match event {
        Event::Started { .. } => drop(store.jobs().start(id).await.unwrap()),
        Event::Claimed => {
            let _: () = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
            fetch(store, &[], 1).await;
        }
        Event::Succeeded => drop(fetch(store, &[ended(id, attempt, finished())], 0).await),
        Event::Failed { .. } => drop(fetch(store, &[ended(id, attempt, failed())], 0).await),
        Event::Requeued => drop(fetch(store, &[ended(id, attempt, AttemptEnd::Requeued)], 0).await),
        Event::LeaseLost { .. } => {
            store.clock().advance(Duration::from_secs(31));
            store.queues().reap(128).await.unwrap();
        }
        Event::Stopped => {
            // A running script ends a moment after it was asked to.
            if matches!(store.jobs().stop(id).await.unwrap(), Stopping::Asked) {
                let error = JobError::new(ErrorKind::Stopped, "stopped_by_request");
                fetch(store, &[ended(id, attempt, AttemptEnd::Failed { error, retry_in: Duration::ZERO })], 0).await;
            }
        }
        Event::Due { .. } => {
            store.clock().advance(Duration::from_secs(3601));
            store.jobs().promote(128).await.unwrap();
        }
        Event::Retried { .. } => drop(store.jobs().retry(id).await.unwrap()),
        Event::PrerequisitesMet | Event::PrerequisiteFailed => {
            // What it waits for; one that does not wait any more is not moved by its end.
            let other = prerequisite(redis, store, id).await;
            let outcome = if event == Event::PrerequisitesMet { finished() } else { failed() };
            fetch(store, &[ended(&other, 1, outcome)], 0).await;
            store.jobs().release_relatives(128).await.unwrap();
        }
    }
}

#[tokio::test]
async fn the_functions_keep_to_the_table() {
    let redis = Redis::start().await;
    for (from, event) in Status::ALL.into_iter().flat_map(|from| Event::ALL.map(|event| (from, event))) {
        let _: () = redis.run(&["FLUSHALL"]).await;
        let store = redis.store().await;
        let id = at(&store, from).await;
        prepare(&redis, &store, &id, event).await;
        if from != Status::Started {
            // So that nothing but the status stands in the way of a late result.
            let attempt = store.jobs().get(&id).await.unwrap().unwrap().attempt.to_string();
            let lease = ["lease", store.server().as_str(), "attempt", &attempt];
            let _: i64 = redis.run(&[&["HSET", &format!("hero:job:{id}")][..], &lease].concat()).await;
        }
        put(&redis, &store, &id, event).await;
        assert_eq!(now(&store, &id).await, from.on(event).unwrap_or(from), "{from} {event:?}");
    }
}

#[tokio::test]
async fn a_result_is_taken_only_from_the_attempt_that_holds_the_lease() {
    let redis = Redis::start().await;
    let (alice, bob) = (redis.store().await, redis.store().await);
    let id = at(&alice, Status::Started).await;
    assert_eq!(fetch(&bob, &[ended(&id, 1, finished())], 0).await.statuses, [None]);
    assert_eq!(fetch(&alice, &[ended(&id, 2, finished())], 0).await.statuses, [None]);
    assert_eq!(fetch(&alice, &[ended(&id, 1, finished())], 0).await.statuses, [Some(Status::Finished)]);
    assert_eq!(fetch(&alice, &[ended(&id, 1, failed())], 0).await.statuses, [None]);
}

#[tokio::test]
async fn a_lease_is_renewed_only_by_its_holder() {
    let redis = Redis::start().await;
    let (alice, mallory) = (redis.store().await, redis.store().await);
    let id = at(&alice, Status::Started).await;
    assert_eq!(mallory.queues().renew(&[(id.clone(), 1)]).await.unwrap(), [(id.clone(), 1)]);
    assert!(alice.queues().renew(&[(id.clone(), 1)]).await.unwrap().is_empty());
    let (osis, group) = ("osis".parse().unwrap(), "default".parse().unwrap());
    assert_eq!(alice.queues().list_leases(&osis, &group).await.unwrap(), [(id, 1)]);
    assert!(mallory.queues().list_leases(&osis, &group).await.unwrap().is_empty());
    // Another pool of the same server has nothing to do with it.
    assert!(alice.queues().list_leases(&"sal".parse().unwrap(), &group).await.unwrap().is_empty());
    assert!(alice.queues().list_leases(&osis, &"io".parse().unwrap()).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_third_lost_lease_ends_a_job_as_crashed() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = at(&store, Status::Dispatched).await;
    for crash in 1..=3 {
        assert_eq!(fetch(&store, &[], 1).await.taken[0].attempt, crash);
        store.clock().advance(Duration::from_secs(31));
        assert_eq!(store.queues().reap(128).await.unwrap(), Some(1));
    }
    let job = store.jobs().get(&id).await.unwrap().unwrap();
    assert_eq!((job.status, job.crashes, job.error.unwrap().kind), (Status::Error, 3, ErrorKind::Crashed));
}

#[tokio::test]
async fn a_failed_job_with_retries_left_waits_for_its_next_attempt() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut new = NewJob { start: true, ..job() };
    (new.spec.retries, new.spec.script) = (1, "x".into());
    let id = new.id.clone();
    store.jobs().create(new).await.unwrap();
    fetch(&store, &[], 1).await;
    assert_eq!(fetch(&store, &[ended(&id, 1, failed())], 1).await.statuses, [Some(Status::Scheduled)]);
    store.jobs().promote(128).await.unwrap();
    assert_eq!(now(&store, &id).await, Status::Scheduled);
    store.clock().advance(Duration::from_secs(6));
    store.jobs().promote(128).await.unwrap();
    assert_eq!(fetch(&store, &[], 1).await.taken[0].attempt, 2);
    assert_eq!(fetch(&store, &[ended(&id, 2, failed())], 1).await.statuses, [Some(Status::Error)]);
}

#[tokio::test]
async fn an_idempotency_key_gives_the_same_job_again_and_refuses_another() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let keyed = |script: &str| {
        let mut new = job();
        new.spec.idempotency_key = Some("k".into());
        new.spec.script = script.into();
        new
    };
    let first = keyed("1");
    let id = first.id.clone();
    assert_eq!(store.jobs().create(first).await.unwrap(), Created::Created(Status::Created));
    assert_eq!(store.jobs().create(keyed("1")).await.unwrap(), Created::Same(id.clone(), Status::Created));
    assert_eq!(store.jobs().create(keyed("2")).await.unwrap(), Created::Reused(id));
}

#[tokio::test]
async fn priority_comes_before_place_and_place_before_age() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let mut order = Vec::new();
    for (group, priority) in [(None, 2), (None, 1), (Some("io"), 1), (None, 0), (Some("io"), 0)] {
        let mut new = NewJob { start: true, ..job() };
        new.spec.group = group.map(|group: &str| group.parse().unwrap());
        new.spec.priority = priority.try_into().unwrap();
        order.push(new.id.clone());
        store.jobs().create(new).await.unwrap();
    }
    let queues: Vec<(String, usize)> =
        [":group:io:prio:0", ":prio:0", ":group:io", "", ":prio:2"].map(|suffix| (format!("hero:q:work:type:osis{suffix}"), 0)).into();
    let (script_type, actors) = ("osis".parse().unwrap(), [ActorRoom { actor: "osis:io:1".into(), room: 5 }]);
    let fetched = store.queues().fetch(&Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues }).await.unwrap();
    let taken: Vec<_> = fetched.taken.into_iter().map(|job| job.job).collect();
    assert_eq!(taken, [4, 3, 2, 1, 0].map(|at: usize| order[at].clone()));
}

#[tokio::test]
async fn a_full_queue_takes_no_more() {
    let redis = Redis::start().await;
    let store = redis.plan().with_room(1).store().await;
    at(&store, Status::Dispatched).await;
    assert_eq!(store.jobs().create(NewJob { start: true, ..job() }).await.unwrap(), Created::Full(1));
    let waiting = at(&store, Status::Created).await;
    assert_eq!(store.jobs().start(&waiting).await.unwrap(), Started::Full(1));
    assert_eq!(now(&store, &waiting).await, Status::Created);
}

#[tokio::test]
async fn a_job_that_nobody_starts_is_given_up_after_a_day() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = at(&store, Status::Created).await;
    store.clock().advance(Duration::from_secs(24 * 3600 - 10));
    store.jobs().promote(128).await.unwrap();
    assert_eq!(now(&store, &id).await, Status::Created);
    store.clock().advance(Duration::from_secs(20));
    store.jobs().promote(128).await.unwrap();
    assert_eq!(now(&store, &id).await, Status::Error);
    assert_eq!(store.jobs().stop(&id).await.unwrap(), Stopping::Ended(Status::Error));
}

#[tokio::test]
async fn a_caller_and_a_key_are_told_from_others_that_read_alike_together() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let keyed = |caller: &str, key: &str| {
        let mut new = job();
        new.spec.caller_id = Some(caller.into());
        new.spec.idempotency_key = Some(key.into());
        new
    };
    for (caller, key) in [("a", "b\0c"), ("a\0b", "c"), ("", "a\0b\0c"), ("a\0b\0c", "")] {
        assert_eq!(store.jobs().create(keyed(caller, key)).await.unwrap(), Created::Created(Status::Created), "{caller:?} {key:?}");
    }
}

#[tokio::test]
async fn a_release_whose_answer_was_lost_requeues_no_later_run() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = at(&store, Status::Dispatched).await;
    let first = fetch(&store, &[], 1).await.taken.remove(0);
    let back = [Ended::of(id.clone(), first.attempt, first.claim, first.started_at, AttemptEnd::Requeued)];
    assert_eq!(fetch(&store, &back, 0).await.statuses, [Some(Status::Dispatched)]);
    // Another pool of this process takes the job before the first one has sent its release again.
    let second = fetch(&store, &[], 1).await.taken.remove(0);
    assert_eq!((second.attempt, second.claim), (1, 2), "an attempt that was requeued was none, but a claim");
    assert_eq!(fetch(&store, &back, 0).await.statuses, [None]);
    assert_eq!(store.queues().renew(&[(id.clone(), 1), (id.clone(), 2)]).await.unwrap(), [(id.clone(), 1)]);
    let (osis, group) = ("osis".parse().unwrap(), "default".parse().unwrap());
    assert_eq!(store.queues().list_leases(&osis, &group).await.unwrap(), [(id.clone(), 2)]);
    let end = Ended { claim: 2, ..ended(&id, 1, finished()) };
    assert_eq!(fetch(&store, &[end], 0).await.statuses, [Some(Status::Finished)]);
}

#[tokio::test]
async fn what_a_foreign_program_wrote_as_the_number_of_releases_harms_nothing() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    for word in ["-3", "nan", "inf", "1e300", "0.5", "x"] {
        let id = at(&store, Status::Dispatched).await;
        let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "given_back", word]).await;
        let taken = fetch(&store, &[], 1).await.taken.remove(0);
        let back = [Ended::of(id.clone(), taken.attempt, taken.claim, taken.started_at, AttemptEnd::Requeued)];
        assert_eq!(fetch(&store, &back, 0).await.statuses, [Some(Status::Dispatched)], "{word}");
        let taken = fetch(&store, &[], 1).await.taken.remove(0);
        assert_eq!((taken.attempt, taken.claim), (1, 2), "{word}");
        assert_eq!(fetch(&store, &[Ended { claim: 2, ..ended(&id, 1, finished()) }], 0).await.statuses, [Some(Status::Finished)], "{word}");
    }
}

#[tokio::test]
async fn an_id_whose_hash_is_late_because_everything_stood_still_is_not_dropped() {
    use hero::service::Service;
    let redis = Redis::start().await;
    let store = redis.store().await;
    let id = JobId::random();
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", id.as_str()]).await;
    assert!(fetch(&store, &[], 1).await.taken.is_empty());
    // The machine stands still, and the promoter is the first to wake up.
    store.clock().advance(Duration::from_secs(6));
    let mut promoter = hero::dispatch::Promoter::new(store.clone());
    promoter.tick().await.unwrap();
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{id}"), "script", "1"]).await;
    promoter.tick().await.unwrap();
    assert_eq!(fetch(&store, &[], 1).await.taken[0].job, id);
    // One whose hash does not come is not kept for ever.
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", JobId::random().as_str()]).await;
    assert!(fetch(&store, &[], 1).await.taken.is_empty());
    store.clock().advance(Duration::from_secs(6));
    store.jobs().promote(128).await.unwrap();
    assert!(!redis.run::<bool>(&["EXISTS", "hero:q:unwritten"]).await);
}
