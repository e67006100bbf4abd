//! Runs whose lease was lost, and claims that the pool does not know.

use std::time::Duration;

use hero::dispatch::Reaper;
use hero::model::{JobId, JobSpec, Status};
use hero::service::Service as _;
use hero::store::{ActorRoom, Fetch, NewJob, Periods, Store};

use crate::support::{CONTEXT, House, PATIENCE, Redis, pool_settings, spec, until};

/// Clients of Redis whose script waits because of CLIENT PAUSE.
async fn held_up(house: &House) -> Vec<String> {
    let clients: String = house.redis.run(&["CLIENT", "LIST"]).await;
    let held_up = clients.lines().filter(|line| line.contains(" cmd=fcall ") && line.contains(" flags=b"));
    held_up.filter_map(|line| line.strip_prefix("id=")?.split(' ').next().map(ToOwned::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_that_redis_executes_when_nobody_waits_for_it_costs_its_jobs_no_crash() {
    let house = House::open(1).await;
    house.run("1").await.unwrap();
    // A fetch of the pool and a script of another loop are sent, and their connections break.
    let _: () = house.redis.run(&["CLIENT", "PAUSE", "60000", "WRITE"]).await;
    let clients =
        until("two connections with a script under way", || async { Some(held_up(&house).await).filter(|clients| clients.len() >= 2) })
            .await;
    for client in clients {
        let _: i64 = house.redis.run(&["CLIENT", "KILL", "ID", &client]).await;
    }
    let _: () = house.redis.run(&["CLIENT", "UNPAUSE"]).await;
    // The pool has checked its claims, and works again.
    until("a job that runs", || async { house.run("1").await.ok() }).await;
    // The fetch arrives only now. It finds jobs that no other actor takes.
    let late = house.redis.plan().named(house.store.server().clone()).store().await;
    let id = house.start(JobSpec { group: Some("other".parse().unwrap()), ..spec("1") }).await;
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: 1 }];
    let queues = [("hero:q:work:type:osis:group:other".to_owned(), 0)];
    let fetch = Fetch { script_type: &"osis".parse().unwrap(), ends: &[], actors: &actors, queues: &queues };
    assert_eq!(late.queues().fetch(&fetch).await.unwrap().taken[0].job, id);
    house.is(&id, Status::Dispatched).await;
    let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
    assert_eq!((job.attempt, job.crashes), (0, 0), "its lease was over before somebody looked");
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_lease_was_lost_runs_again_in_the_same_pool_and_a_stop_ends_that_run() {
    let house = House::open(2).await;
    let id = house.start(spec("loop {}")).await;
    house.is(&id, Status::Started).await;
    // As after a pause of this machine: another server finds that the lease has expired.
    let other = house.redis.store().await;
    other.clock().advance(Duration::from_secs(31));
    assert_eq!(other.queues().reap(128).await.unwrap(), Some(1));
    until("its second attempt", || async {
        let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
        (job.status == Status::Started && job.attempt == 2).then_some(())
    })
    .await;
    // The first run ends here, and that is not recorded.
    until("a free actor", || async { house.run("1").await.ok() }).await;
    let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
    assert_eq!((job.status, job.attempt, job.crashes), (Status::Started, 2, 1));
    assert_eq!(house.dispatcher.jobs().stop(CONTEXT, &id).await.unwrap(), Status::Error);
    let job = house.dispatcher.jobs().job(CONTEXT, &id).await.unwrap();
    assert_eq!((job.attempt, job.error.unwrap().message.as_str()), (2, "stopped_by_request"));
    house.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_missing_for_longer_than_a_lease_costs_no_job_its_attempt() {
    // Long enough that a busy machine is no reason to lose it.
    let lease = Duration::from_secs(2);
    let mut house = House::lasting(Redis::start().await, Periods { lease, ..Periods::default() }).await;
    house.hire(pool_settings(house.redis.directory(), 2)).await;
    let jobs = [house.start(spec("sleep(12); 1")).await, house.start(spec("sleep(3); 2")).await];
    for id in &jobs {
        house.is(id, Status::Started).await;
    }
    let _: String = house.redis.run(&["ACL", "SETUSER", "default", "-hmget"]).await;
    // The second one ends meanwhile.
    let over = house.store.clock().now().plus(3 * lease);
    until("three leases", || async { (house.store.clock().now() > over).then_some(()) }).await;
    let _: String = house.redis.run(&["ACL", "SETUSER", "default", "+hmget"]).await;
    for (id, output) in jobs.iter().zip(["1", "2"]) {
        until("an end", || async { house.dispatcher.jobs().result(CONTEXT, id).await.ok().filter(|result| result.output == output) }).await;
        let job = house.dispatcher.jobs().job(CONTEXT, id).await.unwrap();
        assert_eq!((job.attempt, job.crashes), (1, 0), "{job:?}");
    }
    house.close().await;
}

/// A job that runs with a lease of 400 ms which is not renewed, and a reaper that has not run yet.
async fn with_a_short_lease() -> (Redis, Store, JobId, Reaper) {
    let redis = Redis::start().await;
    let store = redis.plan().lasting(Periods { lease: Duration::from_millis(400), ..Periods::default() }).store().await;
    let id = JobId::random();
    let new = NewJob { id: id.clone(), spec: spec("1"), start: true, waited: false, occurrence: None, flow: None };
    store.jobs().create(new).await.unwrap();
    let actors = [ActorRoom { actor: "osis:default:1".into(), room: 1 }];
    let queues = [("hero:q:work:type:osis".to_owned(), 0)];
    let fetch = Fetch { script_type: &"osis".parse().unwrap(), ends: &[], actors: &actors, queues: &queues };
    assert_eq!(store.queues().fetch(&fetch).await.unwrap().taken.len(), 1);
    let reaper = Reaper::new(store.clone());
    (redis, store, id, reaper)
}

#[tokio::test]
async fn a_reaper_that_may_read_again_leaves_jobs_to_the_renewals_that_may_so_only_now() {
    let (redis, store, id, mut reaper) = with_a_short_lease().await;
    // It looks all the time, so nobody was held up; but of a job it may read what is missing to renewals as little as they may.
    let _: String = redis.run(&["ACL", "SETUSER", "default", "-hmget"]).await;
    let over = store.clock().now().plus(Duration::from_secs(3));
    while store.clock().now() < over {
        let _ = reaper.tick().await;
    }
    let _: String = redis.run(&["ACL", "SETUSER", "default", "+hmget"]).await;
    reaper.tick().await.unwrap();
    assert_eq!(store.jobs().get(&id).await.unwrap().unwrap().status, Status::Started);
}

#[tokio::test]
async fn a_reaper_that_was_held_up_leaves_jobs_to_the_renewals_that_were_held_up_with_it_but_once() {
    let (_redis, store, id, mut reaper) = with_a_short_lease().await;
    reaper.tick().await.unwrap();
    // Neither it nor the renewals of this process come to be sent for so long.
    let over = store.clock().now().plus(Duration::from_millis(1500));
    until("the end of the lease", || async { (store.clock().now() > over).then_some(()) }).await;
    reaper.tick().await.unwrap();
    assert_eq!(store.jobs().get(&id).await.unwrap().unwrap().status, Status::Started);
    // Who does not renew it even then loses it.
    let lost = async {
        while store.jobs().get(&id).await.unwrap().unwrap().status != Status::Dispatched {
            reaper.tick().await.unwrap();
        }
    };
    tokio::time::timeout(PATIENCE, lost).await.expect("a reaper that goes on");
}
