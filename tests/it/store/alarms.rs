//! Functions announce to the loops of every server what is due before the next poll.

use std::time::Duration;

use hero::coordinator::flows::{Flows, Resumer};
use hero::dispatch::{Promoter, Scheduler};
use hero::model::{ErrorKind, JobError, JobId, JobSpec, ScheduleSpec, ScriptType, Seconds};
use hero::service::{self, Service};
use hero::store::{AttemptEnd, Claimed, DueKind, Ended, FlowAction, Layouts, Store, Subscriber};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::fetch;
use crate::support::{CONTEXT, PATIENCE, Redis, dispatcher, spec, until};

/// Two servers, of which the second listens until this is dropped.
struct Pair {
    redis: Redis,
    here: Store,
    there: Store,
    _listens: DropGuard,
}

impl Pair {
    async fn on(redis: Redis) -> Self {
        let (here, there, shutdown) = (redis.store().await, redis.store().await, CancellationToken::new());
        tokio::spawn(service::run(Subscriber::new(there.clone(), Vec::new()), shutdown.clone()));
        let channel = there.keys().alarm();
        until("a subscription", || async {
            let (_, found): (String, i64) = redis.run(&["PUBSUB", "NUMSUB", &channel]).await;
            (found == 1).then_some(())
        })
        .await;
        Self { redis, here, there, _listens: shutdown.drop_guard() }
    }

    /// Starts a job that may be tried twice.
    async fn running(&self) -> Claimed {
        let jobs = dispatcher([self.here.clone()], self.redis.directory());
        jobs.jobs().run_many(vec![JobSpec { retries: 1, ..spec("1") }]).await.unwrap();
        self.taken().await
    }

    async fn taken(&self) -> Claimed {
        fetch(&self.here, &[], 1).await.taken.remove(0)
    }

    async fn fails(&self, claimed: Claimed, retry_in: Duration) {
        let end = AttemptEnd::Failed { error: JobError::new(ErrorKind::Script, "no"), retry_in };
        let ended = Ended::of(claimed.job, claimed.attempt, claimed.claim, claimed.started_at, end);
        fetch(&self.here, &[ended], 0).await;
    }
}

/// Polls come without an announcement, too, but this waits for one.
async fn announced(mut service: impl Service) {
    tokio::time::timeout(PATIENCE, service.due_early()).await.expect("it is announced");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_promoter_hears_of_a_delayed_job_of_another_server() {
    let pair = Pair::on(Redis::start().await).await;
    let jobs = dispatcher([pair.here.clone()], pair.redis.directory());
    let delayed = || JobSpec { run_at: Some(pair.here.clock().now().plus(Duration::from_millis(200))), ..spec("1") };
    let created = jobs.jobs().create(delayed()).await.unwrap();
    jobs.jobs().start(CONTEXT, &created).await.unwrap();
    announced(Promoter::new(pair.there.clone())).await;
    jobs.jobs().run_many(vec![delayed()]).await.unwrap();
    announced(Promoter::new(pair.there.clone())).await;
    let retried = pair.running().await;
    pair.fails(retried, Duration::from_millis(200)).await;
    announced(Promoter::new(pair.there.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_promoter_hears_of_an_id_without_a_hash_that_another_server_met() {
    let pair = Pair::on(Redis::start().await).await;
    let _: i64 = pair.redis.run(&["LPUSH", "hero:q:work:type:osis", &JobId::random().to_string()]).await;
    assert!(fetch(&pair.here, &[], 1).await.taken.is_empty());
    announced(Promoter::new(pair.there.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_promoter_hears_of_an_id_in_a_queue_of_another_layout_whose_hash_is_late() {
    let pair = Pair::on(Redis::start().await).await;
    let _: i64 = pair.redis.run(&["LPUSH", "rhai_tasks:osis", &JobId::random().to_string()]).await;
    let (osis, layouts) = (ScriptType::osis(), Layouts::all(&ScriptType::osis()));
    let queues = pair.here.queues().of_layouts(&osis, &layouts);
    assert!(pair.here.queues().import(&osis, &queues, 1).await.unwrap());
    announced(Promoter::new(pair.there.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_promoter_hears_of_a_delayed_job_of_another_program_that_another_server_discovered() {
    let pair = Pair::on(Redis::start().await).await;
    let (job, soon) = (JobId::random(), pair.here.clock().now().plus(Duration::from_millis(200)).as_millis().to_string());
    let fields = ["id", job.as_str(), "script", "1", "script_type", "osis", "status", "scheduled", "run_at_ms", &soon];
    let _: i64 = pair.redis.run(&[&["HSET", &format!("hero:job:{job}")][..], &fields].concat()).await;
    assert_eq!(pair.here.maintenance().discover(&[job]).await.unwrap(), 1);
    announced(Promoter::new(pair.there.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_promoter_hears_of_a_job_to_retry_that_failed_with_an_actor_of_another_program() {
    let pair = Pair::on(Redis::start().await).await;
    let jobs = dispatcher([pair.here.clone()], pair.redis.directory());
    let retried = JobSpec { retries: 1, retry_backoff: Seconds::new(0.2), ..spec("1") };
    jobs.jobs().run_many(vec![retried]).await.unwrap();
    let taken: String = pair.redis.run(&["RPOP", "hero:q:work:type:osis"]).await;
    let _: i64 = pair.redis.run(&["HSET", &format!("hero:job:{taken}"), "status", "error", "error", "no"]).await;
    let _: i64 = pair.redis.run(&["ZADD", "hero:q:watched", "0", &taken]).await;
    // A call that was on its way for long checks nothing.
    while pair.here.queues().reap(1).await.unwrap().is_none() {}
    announced(Promoter::new(pair.there.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_that_could_not_serve_a_schedule_pauses_whatever_is_announced() {
    let pair = Pair::on(Redis::start().await).await;
    let jobs = dispatcher([pair.here.clone()], pair.redis.directory());
    let schedule = || ScheduleSpec { job: spec("1"), every: Seconds::new(1.0), ..ScheduleSpec::default() };
    let (mut stuck, mut other) = (Scheduler::new(pair.there.clone()), Scheduler::new(pair.there.clone()));
    stuck.tick().await.unwrap();
    jobs.schedules().create(schedule()).await.unwrap();
    let in_the_way = jobs.jobs().create(spec("1")).await.unwrap();
    jobs.jobs().start(CONTEXT, &in_the_way).await.unwrap();
    pair.there.limits().set_queues(1);
    pair.there.clock().advance(Duration::from_secs(1));
    assert!(!stuck.tick().await.unwrap().is_zero());
    jobs.schedules().create(schedule()).await.unwrap();
    let announcement = async {
        tokio::select! {
            biased;
            () = stuck.due_early() => panic!("an announcement ended the pause"),
            () = other.due_early() => {}
        }
    };
    tokio::time::timeout(PATIENCE, announcement).await.expect("nothing was announced");
    // Once there is room, it listens again.
    pair.there.limits().set_queues(100);
    while stuck.tick().await.unwrap().is_zero() {}
    jobs.schedules().create(schedule()).await.unwrap();
    announced(stuck).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scheduler_hears_of_a_schedule_of_another_server() {
    let pair = Pair::on(Redis::start().await).await;
    let schedule = ScheduleSpec { job: spec("1"), every: Seconds::new(1.0), ..ScheduleSpec::default() };
    dispatcher([pair.here.clone()], pair.redis.directory()).schedules().create(schedule).await.unwrap();
    announced(Scheduler::new(pair.there.clone())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_scheduler_hears_of_the_next_occurrence_when_another_server_has_fired_one() {
    let pair = Pair::on(Redis::start().await).await;
    let schedule = ScheduleSpec { job: spec("1"), every: Seconds::new(1.0), ..ScheduleSpec::default() };
    dispatcher([pair.here.clone()], pair.redis.directory()).schedules().create(schedule).await.unwrap();
    announced(Scheduler::new(pair.there.clone())).await;
    pair.here.clock().advance(Duration::from_secs(1));
    Scheduler::new(pair.here.clone()).tick().await.unwrap();
    announced(Scheduler::new(pair.there.clone())).await;
}

#[tokio::test]
async fn loops_sleep_until_the_first_thing_is_due_and_not_longer_than_to_the_next_poll() {
    let redis = Redis::start().await;
    let store = redis.store().await;
    store.clock().stop_at(store.clock().now());
    let (soon, pause) = (store.clock().now().plus(Duration::from_millis(150)).as_millis().to_string(), Duration::from_millis(150));
    let (mut promoter, mut resumer) = (Promoter::new(store.clone()), Resumer::new(store.clone()));
    assert_eq!((promoter.tick().await.unwrap(), resumer.tick().await.unwrap()), (DueKind::POLL_INTERVAL, DueKind::POLL_INTERVAL));
    for key in ["hero:q:scheduled", "hero:q:flows"] {
        let _: i64 = redis.run(&["ZADD", key, &soon, "7"]).await;
    }
    // An id without a hash is looked for later than that.
    let _: i64 = redis.run(&["LPUSH", "hero:q:work:type:osis", &JobId::random().to_string()]).await;
    fetch(&store, &[], 1).await;
    assert_eq!((promoter.tick().await.unwrap(), resumer.tick().await.unwrap()), (pause, pause));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_resumer_hears_of_a_flow_whose_job_failed_at_another_server() {
    let pair = Pair::on(Redis::start().await).await;
    let flows = Flows::new(dispatcher([pair.here.clone()], pair.redis.directory()));
    let spec = json!({"jobs": {"a": {"script": "1"}, "b": {"script": "1"}}, "caller_id": "1"});
    let flow = flows.create(serde_json::from_value(spec).unwrap()).await.unwrap();
    pair.here.flows().advance(flow, FlowAction::Start).await.unwrap();
    let failed = pair.taken().await;
    pair.fails(failed, Duration::ZERO).await;
    announced(Resumer::new(pair.there.clone())).await;
}
