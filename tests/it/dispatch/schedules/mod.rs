//! Schedules: when and how often their jobs run, even when processes die.

mod life;
mod overlap;
mod servers;
mod wire;

use std::collections::BTreeMap;
use std::time::Duration;

use hero::dispatch::{Dispatcher, JobFilter, Scheduler};
use hero::model::{Job, JobSpec, Missed, Schedule, ScheduleId, ScheduleSpec, Seconds, Status, Timestamp};
use hero::service::Service as _;
use hero::store::Store;

use crate::support::{CONTEXT, Redis, dispatcher, round, spec};

/// A server whose loops run only when told to, and whose clock moves only when told to move far.
struct Town {
    store: Store,
    dispatcher: Dispatcher,
    scheduler: Scheduler,
}

impl Town {
    async fn on(redis: &Redis) -> Self {
        Self::with_queues_of(redis, 100_000).await
    }

    async fn with_queues_of(redis: &Redis, queue_limit: usize) -> Self {
        let store = redis.plan().with_room(queue_limit).store().await;
        let dispatcher = dispatcher([store.clone()], redis.directory());
        Self { scheduler: Scheduler::new(store.clone()), store, dispatcher }
    }

    fn advance(&self, seconds: u64) {
        self.store.clock().advance(Duration::from_secs(seconds));
    }

    /// Does all work that is due now.
    async fn tick(&mut self) {
        while round(&mut self.scheduler).await.is_zero() {}
    }

    async fn pass(&mut self, seconds: u64) {
        self.advance(seconds);
        self.tick().await;
    }

    async fn create(&self, spec: ScheduleSpec) -> ScheduleId {
        self.dispatcher.schedules().create(spec).await.unwrap().schedule_id
    }

    async fn schedules(&self) -> Vec<Schedule> {
        self.dispatcher.schedules().list(CONTEXT, None, 1000).await.unwrap().schedules
    }

    async fn schedule(&self, id: &ScheduleId) -> Schedule {
        self.schedules().await.into_iter().find(|schedule| schedule.schedule_id == *id).unwrap()
    }

    /// The jobs of a schedule, oldest occurrence first.
    async fn jobs(&self, id: &ScheduleId) -> Vec<Job> {
        self.all_jobs().await.remove(id.as_str()).unwrap_or_default()
    }

    /// The jobs of all schedules, oldest occurrence first.
    async fn all_jobs(&self) -> BTreeMap<String, Vec<Job>> {
        let (mut jobs, mut cursor) = (BTreeMap::<String, Vec<Job>>::new(), None);
        loop {
            let page = self.dispatcher.jobs().list(CONTEXT, &JobFilter::default(), cursor.as_deref(), 1000).await.unwrap();
            for job in page.jobs {
                jobs.entry(job.labels["schedule"].clone()).or_default().push(job);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        jobs.values_mut().for_each(|jobs| jobs.sort_by_key(occurrence));
        jobs
    }

    async fn stop(&self, job: &Job) {
        assert_eq!(self.dispatcher.jobs().stop(CONTEXT, &job.job_id).await.unwrap(), Status::Error);
    }
}

/// When a job was due.
fn occurrence(job: &Job) -> Timestamp {
    job.labels["slot"].parse().unwrap()
}

fn every(seconds: f64) -> ScheduleSpec {
    ScheduleSpec { job: spec("40 + 2"), every: Seconds::new(seconds), ..ScheduleSpec::default() }
}

fn by_cron(pattern: &str) -> ScheduleSpec {
    ScheduleSpec { job: spec("40 + 2"), cron: Some(pattern.to_owned()), ..ScheduleSpec::default() }
}

/// Every key that schedules leave.
async fn keys(redis: &Redis) -> Vec<String> {
    let mut keys: Vec<String> = redis.run(&["KEYS", "hero:schedule:*"]).await;
    keys.extend(redis.run::<Vec<String>>(&["KEYS", "hero:meta:schedules"]).await);
    keys
}
