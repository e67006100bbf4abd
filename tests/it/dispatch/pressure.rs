//! Redis without memory: ends are recorded, creates are refused, nothing counts as a crash, and everything recovers by
//! itself.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use hero::dispatch::{Error, Indexer};
use hero::model::{JobError, JobId, JobSpec, Output, OutputFormat, Seconds, Status};
use hero::service::Service as _;
use hero::store::{ActorRoom, AttemptEnd, Created, Ended, Fetch, NewJob, Pace, Periods, Store};

use crate::support::{CONTEXT, House, PATIENCE, Redis, pool_settings, spec, until};

/// More than any test lasts.
const LONG_RETENTION: Duration = Duration::from_secs(24 * 3600);

async fn limit(redis: &Redis, bytes: u64) {
    let _: String = redis.run(&["CONFIG", "SET", "maxmemory", &bytes.to_string()]).await;
}

/// Repeats a call that is refused for want of memory. Says how often it was.
async fn until_there_is_room<T, F: Future<Output = Result<T, Error>>>(refused: &AtomicUsize, call: impl Fn() -> F) -> T {
    until("room", || async {
        match call().await {
            Ok(value) => Some(value),
            Err(Error::Full { .. }) => {
                refused.fetch_add(1, Ordering::Relaxed);
                None
            }
            Err(error) => panic!("{error}"),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_filled_to_the_brim_under_load_loses_no_result_and_recovers_by_itself() {
    let redis = Redis::start().await;
    // The clock of this house is moved, and no lease may be over by that.
    let mut house = House::lasting(redis, Periods { lease: LONG_RETENTION, ..Periods::default() }).await;
    house.hire(pool_settings(house.redis.directory(), 2)).await;
    let brim = house.redis.memory("used_memory").await + (8 << 20);
    limit(&house.redis, brim).await;

    // 400 results of 60 KB are three times as much as there is room for.
    let (refused, ended, enough) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let caller = |caller: usize| {
        let (house, refused, ended) = (&house, &refused, &ended);
        async move {
            for number in 0..50 {
                let letter = char::from(b'a' + u8::try_from((caller + number) % 26).unwrap());
                let job = spec(&format!("let s = \"\"; s.pad(60000, '{letter}'); s"));
                let result = until_there_is_room(refused, || house.dispatcher.jobs().run_and_wait(job.clone(), PATIENCE)).await;
                assert_eq!((result.output.len(), result.output.chars().next(), result.attempt), (60_000, Some(letter), 1));
                ended.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    // What ended stays for a minute whatever happens, so the minutes are made shorter, but only once Redis is full: where results come
    // slowly, it would never be.
    let minutes = async {
        let mut pace = tokio::time::interval(Duration::from_millis(200));
        while !enough.load(Ordering::Relaxed) {
            pace.tick().await;
            if refused.load(Ordering::Relaxed) > 0 {
                house.store.clock().advance(Duration::from_secs(61));
            }
        }
    };
    let callers = async {
        futures_util::future::join_all((0..8).map(caller)).await;
        enough.store(true, Ordering::Relaxed);
    };
    tokio::join!(callers, minutes);
    assert_eq!(ended.load(Ordering::Relaxed), 400);
    assert!(refused.load(Ordering::Relaxed) > 0, "there was room for everything");
    let peak = house.redis.memory("used_memory_peak").await;
    // Each ended job counts, and none was counted as crashed.
    let stats: std::collections::BTreeMap<String, u64> = house.redis.run(&["HGETALL", "hero:meta:queue:stats:osis"]).await;
    assert_eq!((stats["finished"], stats.get("crashed"), stats.get("lease_lost")), (400, None, None));
    assert!(peak < brim + (4 << 20), "{peak} bytes were in use, although {brim} is the limit");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_memory_running_jobs_end_once_and_leases_presences_stops_and_old_jobs_go_on() {
    let mut house = House::lasting(Redis::start().await, Periods { lease: Duration::from_secs(1), ..Periods::default() }).await;
    house.hire(pool_settings(house.redis.directory(), 2)).await;
    let created = house.dispatcher.jobs().create(spec("1")).await.unwrap();
    // It runs for several leases.
    let (long, endless) = (house.start(spec("sleep(4); 7")).await, house.start(spec("loop {}")).await);
    house.is(&long, Status::Started).await;
    house.is(&endless, Status::Started).await;
    let queued = [house.start(spec("8")).await, house.start(spec("9")).await];
    limit(&house.redis, 1).await;

    assert!(matches!(house.dispatcher.jobs().create(spec("1")).await, Err(Error::Full { .. })));
    assert!(matches!(house.run("1").await, Err(Error::Full { .. })));
    assert!(matches!(house.dispatcher.jobs().start(CONTEXT, &created).await, Err(Error::Full { .. })));
    let keyed = JobSpec { idempotency_key: Some("k".into()), ..spec("1") };
    assert!(matches!(house.dispatcher.jobs().create(keyed).await, Err(Error::Full { .. })));
    let presence = house.store.actors().list().await.unwrap()[0].presence.last_heartbeat;
    assert_eq!(house.dispatcher.jobs().stop(CONTEXT, &endless).await.unwrap(), Status::Error);
    assert_eq!(house.dispatcher.jobs().wait(CONTEXT, &long, PATIENCE).await.unwrap().output, "7");
    for (id, output) in queued.iter().zip(["8", "9"]) {
        let result = house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await.unwrap();
        assert_eq!((&*result.output, result.attempt), (output, 1));
    }
    until("a heartbeat", || async { (house.store.actors().list().await.ok()?.first()?.presence.last_heartbeat > presence).then_some(()) })
        .await;
    let job = house.dispatcher.jobs().job(CONTEXT, &long).await.unwrap();
    assert_eq!((job.attempt, job.crashes), (1, 0));
    house.dispatcher.jobs().delete(CONTEXT, &long).await.unwrap();

    limit(&house.redis, 0).await;
    until("new jobs", || async { house.run("40 + 2").await.ok().filter(|result| result.output == "42") }).await;
    assert_eq!(house.dispatcher.jobs().start(CONTEXT, &created).await.unwrap(), Status::Dispatched);
    house.close().await;
}

/// Creates jobs of some kinds, takes them all and ends them.
async fn ended(store: &Store, specs: &[JobSpec], outcome: &AttemptEnd) -> Vec<JobId> {
    let new = |spec: &JobSpec| NewJob { id: JobId::random(), spec: spec.clone(), start: true, waited: false, occurrence: None, flow: None };
    let new: Vec<NewJob> = specs.iter().map(new).collect();
    let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis".to_owned(), 0)]);
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: 128 }];
    for new in new.chunks(128) {
        store.jobs().create_all_or_none(new).await.unwrap();
        let taken =
            store.queues().fetch(&Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues }).await.unwrap().taken;
        let end = |job: hero::store::Claimed| Ended::of(job.job, job.attempt, job.claim, job.started_at, outcome.clone());
        let ends: Vec<Ended> = taken.into_iter().map(end).collect();
        assert_eq!(ends.len(), new.len());
        store.queues().fetch(&Fetch { script_type: &script_type, ends: &ends, actors: &[], queues: &[] }).await.unwrap();
    }
    new.into_iter().map(|job| job.id).collect()
}

fn finished(bytes: usize) -> AttemptEnd {
    AttemptEnd::Finished(Output { text: "x".repeat(bytes), format: OutputFormat::Text })
}

/// One walk of relief through the whole index.
async fn relieve(store: &Store) -> usize {
    let mut gone = 0;
    for hour in store.maintenance().index_hours().await.unwrap() {
        let mut from = Some(0);
        while let Some(place) = from {
            let evicted = store.maintenance().evict(&hour, place, false).await.unwrap();
            (from, gone) = (evicted.next, gone + evicted.gone);
        }
    }
    gone
}

#[tokio::test(flavor = "multi_thread")]
async fn relief_spares_what_somebody_counts_on() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let keyed = JobSpec { idempotency_key: Some("k".into()), ..spec("1") };
    let kept = JobSpec { retention: Seconds::new(3600.0), ..spec("1") };
    let jobs = ended(&store, &[spec("1"), keyed, kept], &finished(10)).await;
    let parent = ended(&store, &[spec("1")], &finished(10)).await.remove(0);
    let child = JobSpec { parent_id: Some(parent.clone()), ..spec("2") };
    let child = NewJob { id: JobId::random(), spec: child, start: true, waited: false, occurrence: None, flow: None };
    assert_eq!(store.jobs().create(child).await.unwrap(), Created::Created(Status::Dispatched));
    let failed = AttemptEnd::Failed { error: JobError::new(hero::model::ErrorKind::Script, "no"), retry_in: Duration::ZERO };
    let error = {
        // The child stands before it in the queue.
        let new = NewJob {
            id: JobId::random(),
            spec: JobSpec { priority: hero::model::Priority::Urgent, ..spec("1") },
            start: true,
            waited: false,
            occurrence: None,
            flow: None,
        };
        let (script_type, queues) = ("osis".parse().unwrap(), [("hero:q:work:type:osis:prio:0".to_owned(), 0)]);
        let actors = [ActorRoom { actor: "osis:default:1".into(), room: 1 }];
        store.jobs().create(new.clone()).await.unwrap();
        let taken = store
            .queues()
            .fetch(&Fetch { script_type: &script_type, ends: &[], actors: &actors, queues: &queues })
            .await
            .unwrap()
            .taken
            .remove(0);
        let end = Ended::of(taken.job, taken.attempt, taken.claim, taken.started_at, failed);
        store.queues().fetch(&Fetch { script_type: &script_type, ends: &[end], actors: &[], queues: &[] }).await.unwrap();
        new.id
    };

    assert_eq!(relieve(&store).await, 0, "they ended just now");
    store.clock().advance(Duration::from_secs(61));
    assert_eq!(relieve(&store).await, 1);
    assert_eq!(store.jobs().get(&jobs[0]).await.unwrap(), None);
    for id in [&jobs[1], &jobs[2], &parent, &error] {
        assert!(store.jobs().get(id).await.unwrap().is_some());
    }
    // Nobody remembers the key after a day.
    store.clock().advance(Duration::from_secs(24 * 3600));
    assert_eq!(relieve(&store).await, 1);
    assert_eq!(store.jobs().get(&jobs[1]).await.unwrap(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_that_may_not_go_do_not_hide_those_that_may_and_no_queue_is_searched_for_them() {
    let house = House::empty().await;
    let failed = AttemptEnd::Failed { error: JobError::new(hero::model::ErrorKind::Script, "no"), retry_in: Duration::ZERO };
    let errors = ended(&house.store, &vec![spec("1"); 1500], &failed).await;
    let results = ended(&house.store, &vec![spec("1"); 300], &finished(10_000)).await;
    for _ in 0..20 {
        house.start(spec("1")).await;
    }
    house.store.clock().advance(Duration::from_secs(61));
    let used = house.redis.memory("used_memory").await;
    // Three quarters are in use.
    limit(&house.redis, used * 4 / 3).await;
    until("relief", || async { (house.redis.memory("used_memory").await < used - (used * 5 / 100)).then_some(()) }).await;
    let there = |ids: Vec<JobId>| {
        let store = house.store.clone();
        async move {
            let mut there = BTreeSet::new();
            for id in ids {
                if store.jobs().get(&id).await.unwrap().is_some() {
                    there.insert(id);
                }
            }
            there.len()
        }
    };
    assert_eq!(there(errors).await, 1500);
    let left = there(results).await;
    assert!(left > 0 && left < 300, "{left} results are left: as many go as have to");
    let commands: String = house.redis.run(&["INFO", "commandstats"]).await;
    assert!(!commands.contains("cmdstat_lrem:"), "{commands}");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_of_creates_does_not_go_past_the_room_for_ends() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let most = redis.memory("used_memory").await + (16 << 20);
    limit(&redis, most).await;
    // It is looked at once, and never again by anybody but the creates themselves.
    store.health().look_at_memory().await.unwrap();
    let (mut stored, mut refused) = (0, 0);
    for _ in 0..60 {
        let new =
            |_| NewJob { id: JobId::random(), spec: spec(&"x".repeat(50_000)), start: true, waited: false, occurrence: None, flow: None };
        let creating = (0..10).map(new).map(|job| store.jobs().create(job));
        for created in futures_util::future::join_all(creating).await {
            match created.unwrap() {
                Created::NoMemory => refused += 1,
                _ => stored += 1,
            }
        }
    }
    assert!(stored > 50 && refused > 100, "{stored} were stored");
    let used = redis.memory("used_memory").await;
    assert!(used as f64 <= 0.95 * most as f64, "{used} of {most}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_memory_jobs_for_any_actor_are_taken() {
    let mut house = House::empty().await;
    house.hire(pool_settings(house.redis.directory(), 3)).await;
    limit(&house.redis, 0).await;
    let _: () = house.redis.run(&["SADD", "hero:meta:paused", "hero:q:work:type:osis:group:default:inst:3"]).await;
    let one = JobSpec { group: Some("default".parse().unwrap()), instance: Some(3), ..spec("1") };
    let jobs = [house.start(one.clone()).await, house.start(one).await];
    limit(&house.redis, 1).await;
    let _: () = house.redis.run(&["SREM", "hero:meta:paused", "hero:q:work:type:osis:group:default:inst:3"]).await;
    for id in &jobs {
        assert_eq!(house.dispatcher.jobs().wait(CONTEXT, id, PATIENCE).await.unwrap().output, "1");
    }
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_errors_go_only_where_there_is_nothing_else_and_new_jobs_are_refused() {
    let house = House::empty().await;
    let message = "x".repeat(4000);
    let failed = AttemptEnd::Failed { error: JobError::new(hero::model::ErrorKind::Script, message), retry_in: Duration::ZERO };
    let kept = JobSpec { retention: Seconds::new(3600.0), ..spec("1") };
    let kept = ended(&house.store, &[kept], &failed).await.remove(0);
    ended(&house.store, &vec![spec("1"); 1500], &failed).await;
    house.store.clock().advance(Duration::from_secs(61));
    let used = house.redis.memory("used_memory").await;
    let most = used * 100 / 95;
    limit(&house.redis, most).await;
    until("room for new jobs", || async { house.dispatcher.jobs().create(spec("1")).await.ok() }).await;
    until("less than the limit", || async { ((house.redis.memory("used_memory").await as f64) < 0.9 * most as f64).then_some(()) }).await;
    assert!(house.store.jobs().get(&kept).await.unwrap().is_some());
    house.close().await;
}

#[tokio::test]
async fn without_any_memory_what_foreign_programs_ended_gets_an_end_and_their_actors_are_seen() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    let key = format!("hero:job:{}", JobId::random());
    let _: i64 = redis.run(&["HSET", &key, "script", "1", "status", "finished", "output", "1"]).await;
    // What nobody has noted yet.
    let (index, counters) = ("hero:index:2026010100", "hero:meta:queue:stats:v");
    let _: i64 = redis.run(&["RPUSH", index, "x"]).await;
    let _: i64 = redis.run(&["HSET", counters, "created", "1"]).await;
    let _: () = redis.run(&["SET", "hero:meta:actor:inst:v:default:1", "alive", "EX", "600"]).await;
    limit(&redis, 1).await;

    let mut indexer = Indexer::new(store.clone());
    // A step looks at a thousand keys, so the first has met all.
    indexer.tick().await.unwrap();
    assert!(redis.run::<i64>(&["TTL", &key]).await > 0);
    let hours: BTreeSet<String> = redis.run(&["SMEMBERS", "hero:meta:hours"]).await;
    assert_eq!((hours.len(), hours.contains(index)), (2, true));
    assert_eq!(redis.run::<Vec<String>>(&["SMEMBERS", "hero:meta:types"]).await, [counters]);
    assert!(redis.run::<i64>(&["TTL", counters]).await > 0);
    store.actors().survey_in_time(&mut Pace::new()).await.unwrap();
    let actors = store.actors().list().await.unwrap();
    assert_eq!(actors.iter().map(|actor| actor.script_type.as_str()).collect::<Vec<_>>(), ["v"]);
}
