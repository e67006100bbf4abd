//! The clock of Redis decides.

use std::collections::BTreeSet;
use std::time::Duration;

use hero::model::{JobFilter, JobId, JobSpec, Status, Timestamp};
use hero::store::{AttemptEnd, ConveyorKeys, Created, Ended, Import, Imported, NewJob, Store, script_behind_the_modules};

use rand::Rng as _;

use super::fetch;
use crate::support::{Redis, until};

const HOUR: i64 = 3_600_000;

fn new(later: Option<Timestamp>) -> NewJob {
    let spec = JobSpec { script: "1".into(), run_at: later, ..JobSpec::default() };
    NewJob { id: JobId::random(), spec, start: true, waited: false, occurrence: None, flow: None }
}

/// Looks as a reaper that is told to wait first.
async fn reap(store: &Store) {
    while store.queues().reap(128).await.unwrap().is_none_or(|looked| looked > 0) {
        store.maintenance().set_clock().await.unwrap();
    }
}

#[tokio::test]
async fn a_server_whose_clock_jumps_an_hour_takes_no_job_from_others_and_loses_none_of_its_own() {
    for jump in [HOUR, -HOUR] {
        let redis = Redis::start().await;
        let (odd, other) = (redis.store().await, redis.store().await);
        let theirs = new(None);
        other.jobs().create(theirs.clone()).await.unwrap();
        assert_eq!(fetch(&other, &[], 1).await.taken.len(), 1);
        let later = new(Some(other.clock().now().plus(Duration::from_secs(60))));
        assert_eq!(other.jobs().create(later.clone()).await.unwrap(), Created::Created(Status::Scheduled));

        odd.clock().err_by(jump);
        let own = new(None);
        odd.jobs().create(own.clone()).await.unwrap();
        let mut taken = fetch(&odd, &[], 1).await.taken;
        if jump < 0 {
            // What looks as if it had been asked for long ago takes nothing, but sets the clock.
            assert!(taken.is_empty());
            taken = fetch(&odd, &[], 1).await.taken;
            odd.clock().err_by(jump);
        }
        assert_eq!(taken.len(), 1);
        assert!(odd.queues().renew(&[(own.id.clone(), 1)]).await.unwrap().is_empty());
        odd.queues().reap(128).await.unwrap();
        odd.jobs().promote(128).await.unwrap();
        reap(&other).await;
        other.jobs().promote(128).await.unwrap();
        for id in [&theirs.id, &own.id] {
            let job = other.jobs().get(id).await.unwrap().unwrap();
            assert_eq!((job.status, job.attempt, job.crashes), (Status::Started, 1, 0));
            // What is written says when it was, too.
            let error = (job.updated_at.unwrap().as_millis() - other.clock().now().as_millis()).abs();
            assert!(error < 60_000, "{error} ms off");
        }
        assert_eq!(other.jobs().get(&later.id).await.unwrap().unwrap().status, Status::Scheduled);
        let until: f64 = redis.run(&["ZSCORE", "hero:q:leases", own.id.as_str()]).await;
        let left = until - other.clock().now().as_millis() as f64;
        assert!((0.0..=31_000.0).contains(&left), "a lease of {left} ms");
        let end = Ended::of(own.id.clone(), 1, 1, taken[0].started_at, AttemptEnd::Requeued);
        assert_eq!(fetch(&odd, &[end], 0).await.statuses, [Some(Status::Dispatched)]);
    }
}

#[tokio::test]
async fn a_reaper_whose_call_was_on_its_way_for_long_leaves_leases_to_those_who_could_not_renew_them() {
    let redis = Redis::start().await;
    let periods = hero::store::Periods { lease: Duration::from_millis(1), ..Default::default() };
    let store = redis.plan().lasting(periods).store().await;
    store.jobs().create(new(None)).await.unwrap();
    let taken = fetch(&store, &[], 1).await.taken.remove(0);
    let passed = store.clock().now().plus(Duration::from_millis(5));
    until("the end of the lease", || async { (store.clock().now() > passed).then_some(()) }).await;
    // As if it had been sent two seconds ago.
    store.clock().err_by(-2000);
    assert_eq!(store.queues().reap(128).await.unwrap(), None);
    assert_eq!(store.jobs().get(&taken.job).await.unwrap().unwrap().status, Status::Started);
    store.maintenance().set_clock().await.unwrap();
    is_reaped(&store, &taken.job).await;
}

/// Waits until a job is taken from who does not renew its lease.
async fn is_reaped(store: &Store, id: &JobId) {
    until("the reaper", || async {
        store.queues().reap(128).await.unwrap();
        (store.jobs().get(id).await.unwrap().unwrap().status == Status::Dispatched).then_some(())
    })
    .await;
}

#[tokio::test]
async fn where_nobody_looked_at_leases_for_a_while_none_is_over_before_it_could_be_renewed() {
    let redis = Redis::start().await;
    let periods = hero::store::Periods { lease: Duration::from_millis(300), ..Default::default() };
    let (holder, fresh) = (redis.plan().lasting(periods.clone()).store().await, redis.plan().lasting(periods).store().await);
    holder.jobs().create(new(None)).await.unwrap();
    let taken = fetch(&holder, &[], 1).await.taken.remove(0);
    let over = holder.clock().now().plus(Duration::from_millis(400));
    until("the end of the lease", || async { (holder.clock().now() > over).then_some(()) }).await;
    // Redis was away for so long, or everything has just started.
    fresh.queues().reap(128).await.unwrap();
    assert_eq!(fresh.jobs().get(&taken.job).await.unwrap().unwrap().status, Status::Started);
    assert!(holder.queues().renew(&[(taken.job.clone(), taken.claim)]).await.unwrap().is_empty());
    // Whoever does not renew it loses it all the same.
    is_reaped(&fresh, &taken.job).await;
}

#[tokio::test]
async fn the_functions_write_times_as_the_program_does() {
    let redis = Redis::start().await;
    // As if it were that time, and the server believed in another.
    let time = "({ math.floor(ARGV[4] / 1000), ARGV[4] % 1000 * 1000 })";
    let script = script_behind_the_modules("return request.now_text").replace("redis.call('TIME')", time);
    let written = async |believed: &str, text: &str, now: i64| -> String {
        redis.run(&["EVAL", &script, "0", "0 server 1 1 1", believed, text, &now.to_string()]).await
    };
    let mut random = crate::support::random();
    let any: Vec<i64> = (0..200).map(|_| random.random_range(0..253_402_300_799_999)).collect();
    // The ends of years, leap days and centuries.
    let odd = [0, 951_782_399_999, 951_782_400_000, 951_868_800_000, 1_709_164_800_000, 4_107_542_400_000, 253_402_300_799_999];
    for millis in odd.into_iter().chain(any) {
        assert_eq!(written(&(millis + 501).to_string(), "", millis).await, Timestamp::from_millis(millis).to_string());
        // Or what it believes is nearly right.
        let sent = Timestamp::from_millis(millis / 1000 * 1000 + random.random_range(0..1000));
        assert_eq!(written(&sent.as_millis().to_string(), &sent.to_string(), millis).await, Timestamp::from_millis(millis).to_string());
    }
}

#[tokio::test]
async fn the_times_of_a_job_are_in_order_whatever_its_servers_believe() {
    let redis = Redis::start().await;
    let (store, other) = (redis.store().await, redis.store().await);
    store.clock().err_by(400);
    other.clock().err_by(-400);
    let (done, stopped) = (new(None), new(None));
    for job in [&done, &stopped] {
        store.jobs().create(job.clone()).await.unwrap();
    }
    let taken = fetch(&store, &[], 1).await.taken.remove(0);
    other.jobs().stop(&stopped.id).await.unwrap();
    // As when the clock is set while a job runs.
    store.clock().err_by(-800);
    let outcome = AttemptEnd::Finished(hero::model::Output { text: "1".into(), format: hero::model::OutputFormat::Json });
    let end = Ended::of(taken.job.clone(), taken.attempt, taken.claim, taken.started_at, outcome);
    assert_eq!(fetch(&store, &[end], 0).await.statuses, [Some(Status::Finished)]);
    for id in [&done.id, &stopped.id] {
        let job = store.jobs().get(id).await.unwrap().unwrap();
        let times = [job.created_at, job.queued_at, job.started_at, job.finished_at];
        let times: Vec<Timestamp> = times.into_iter().flatten().collect();
        assert!(times.is_sorted() && times.len() >= 3, "{job:?}");
        assert_eq!(job.updated_at, job.finished_at);
    }
    let job = store.jobs().get(&done.id).await.unwrap().unwrap();
    assert_eq!(job.started_at, Some(taken.started_at), "who runs it knows the time that is written");
    // Also if Redis' own clock was turned back.
    let odd = new(None);
    store.jobs().create(odd.clone()).await.unwrap();
    let taken = fetch(&store, &[], 1).await.taken.remove(0);
    let later = Timestamp::from_millis(taken.started_at.as_millis() + HOUR).to_string();
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{}", odd.id), "started_at", &later]).await;
    let end = Ended::of(odd.id.clone(), taken.attempt, taken.claim, taken.started_at, AttemptEnd::Crashed);
    let _: i64 = redis.run(&["HSET", &format!("hero:job:{}", odd.id), "crashes", "2"]).await;
    assert_eq!(fetch(&store, &[end], 0).await.statuses, [Some(Status::Error)]);
    assert_eq!(store.jobs().get(&odd.id).await.unwrap().unwrap().finished_at.unwrap().to_string(), later);
}

#[tokio::test]
async fn what_keeps_a_call_for_a_part_of_a_short_lease_ends_no_lease() {
    let redis = Redis::start().await;
    let periods = hero::store::Periods { lease: Duration::from_millis(300), ..Default::default() };
    let store = redis.plan().lasting(periods).store().await;
    store.jobs().create(new(None)).await.unwrap();
    let taken = fetch(&store, &[], 1).await.taken.remove(0);
    // Somebody looks at leases all the time.
    store.queues().reap(128).await.unwrap();
    let over = store.clock().now().plus(Duration::from_millis(350));
    until("the end of the lease", || async { (store.clock().now() > over).then_some(()) }).await;
    // As if Redis had stood still for so long, and renewals had waited there, too.
    store.clock().err_by(-400);
    assert_eq!(store.queues().reap(128).await.unwrap(), None);
    store.clock().err_by(400);
    assert!(store.queues().renew(&[(taken.job.clone(), taken.claim)]).await.unwrap().is_empty());
    is_reaped(&store, &taken.job).await;
}

#[tokio::test]
async fn a_job_stands_in_the_hour_in_which_it_was_created_whatever_its_server_believes() {
    let redis = Redis::start().await;
    for error in [HOUR * 30, -HOUR * 30] {
        let (store, taker) = (redis.store().await, redis.store().await);
        store.clock().err_by(error);
        let created = new(None).id;
        store.jobs().create(NewJob { id: created.clone(), ..new(None) }).await.unwrap();
        let (keys, imported) = (ConveyorKeys::new(None), JobId::random());
        let _: i64 = redis.run(&["LPUSH", &keys.queue("default"), "x"]).await;
        let spec = Box::new(JobSpec { script: "1".into(), ..JobSpec::default() });
        let import = Import::Job { bytes: b"x".to_vec(), id: imported.clone(), parent: String::new(), spec };
        taker.clock().err_by(error);
        assert_eq!(taker.conveyor().import(&keys, "default", 9, &[import]).await.unwrap(), [Imported::Taken]);
        for id in [&created, &imported] {
            let at: String = redis.run(&["HGET", &format!("hero:job:{id}"), "created_at"]).await;
            let hour: String = at[..13].chars().filter(char::is_ascii_digit).collect();
            let listed: Vec<String> = redis.run(&["LRANGE", &format!("hero:index:{hour}"), "0", "-1"]).await;
            assert!(listed.contains(&id.to_string()), "{error}");
        }
    }
}

/// Creates jobs, and gives them with the times of the first and the last.
async fn many(store: &Store, number: usize) -> (BTreeSet<JobId>, Timestamp, Timestamp) {
    let (mut ids, mut times) = (BTreeSet::new(), Vec::new());
    for _ in 0..number {
        let job = new(None);
        store.jobs().create(job.clone()).await.unwrap();
        times.push(store.jobs().get(&job.id).await.unwrap().unwrap().created_at.unwrap());
        ids.insert(job.id);
    }
    (ids, times[0], times[number - 1])
}

/// All jobs that were created at or after one time, and before another.
async fn between(store: &Store, after: Option<Timestamp>, before: Option<Timestamp>) -> BTreeSet<JobId> {
    let filter = JobFilter { created_after: after, created_before: before, ..JobFilter::default() };
    let (mut ids, mut cursor) = (BTreeSet::new(), None);
    loop {
        let page = store.jobs().list(&filter, cursor.as_deref(), 1000, 1 << 20).await.unwrap().unwrap();
        ids.extend(page.jobs.into_iter().map(|job| job.job_id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            return ids;
        }
    }
}

#[tokio::test]
async fn jobs_are_listed_by_time_though_the_clock_of_redis_was_set_back() {
    const BACK: i64 = 240_000;
    for was_there in [true, false] {
        let redis = Redis::start().await;
        let (mut store, writer) = (redis.store().await, redis.store().await);
        // The time that is shown after it was set back; all jobs are in the index of one hour.
        let (now, next) = (store.clock().now().as_millis(), store.clock().now().plus(Duration::from_secs(600)));
        let base = if next.hour() == store.clock().now().hour() { now } else { next.as_millis() / HOUR * HOUR };
        writer.clock().stop_at(Timestamp::from_millis(base + BACK));
        let (ids, first, last) = many(&writer, 5).await;
        if was_there {
            // It believes what Redis showed.
            store.clock().err_by(base + BACK - now);
        } else {
            store = redis.store().await;
            store.maintenance().look_back().await.unwrap();
            // As its loop does.
            store.maintenance().set_clock().await.unwrap();
        }
        writer.clock().stop_at(Timestamp::from_millis(base));
        let (later_ids, later_first, later_last) = many(&writer, 2).await;
        assert!(later_last < first && first.hour() == later_first.hour(), "{first} {later_last}");
        // Whoever sees it notes it for all.
        for store in [&store, &redis.store().await] {
            assert_eq!(between(store, None, Some(later_last.plus(Duration::from_millis(1)))).await, later_ids, "{was_there}");
            assert_eq!(between(store, Some(first), None).await, ids, "{was_there}");
        }
        // More than are looked at at once.
        many(&writer, 1100).await;
        assert_eq!(between(&store, Some(first), Some(last.plus(Duration::from_millis(1)))).await, ids, "{was_there}");
        // What is noted goes with the hour.
        let noted: Vec<String> = redis.run(&["HKEYS", "hero:meta:strays"]).await;
        assert_eq!(noted, [format!("hero:index:{}:back", first.hour())]);
        store.maintenance().tidy().await.unwrap();
        assert_eq!(redis.run::<u64>(&["HLEN", "hero:meta:strays"]).await, 1);
        let _: u64 = redis.run(&["DEL", &format!("hero:index:{}", first.hour())]).await;
        store.maintenance().tidy().await.unwrap();
        assert_eq!(redis.run::<u64>(&["EXISTS", "hero:meta:strays"]).await, 0);
    }
}

#[tokio::test]
async fn jobs_are_listed_by_time_though_the_clock_of_redis_was_set_back_again_by_less() {
    const BACK: i64 = 240_000;
    let redis = Redis::start().await;
    let (store, writer) = (redis.store().await, redis.store().await);
    let (now, next) = (store.clock().now().as_millis(), store.clock().now().plus(Duration::from_secs(600)));
    let base = if next.hour() == store.clock().now().hour() { now } else { next.as_millis() / HOUR * HOUR };
    // It was set back by far more, and that was noted while the hour had no jobs.
    store.clock().err_by(base + HOUR - now);
    store.maintenance().set_clock().await.unwrap();
    // It goes forward, not as far as it was, and back again.
    writer.clock().stop_at(Timestamp::from_millis(base + BACK));
    let (ids, first, _) = many(&writer, 5).await;
    writer.clock().stop_at(Timestamp::from_millis(base));
    let (later_ids, _, later_last) = many(&writer, 2).await;
    many(&writer, 1100).await;
    assert_eq!(between(&store, Some(first), None).await, ids);
    let sooner = between(&store, None, Some(later_last.plus(Duration::from_millis(1)))).await;
    assert!(sooner.is_superset(&later_ids) && sooner.is_disjoint(&ids));
}
