//! Schedules: jobs that run again and again.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::job::signed;
use super::{PageSize, sample, tag};
use crate::act::object;
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_model::{ContextId, JobSpec, Schedule, ScheduleId, SchedulePage, ScheduleSpec};

/// Has a job run again and again, by `cron` or `every` so many seconds. Gives the schedule, with its next runs.
///
/// It belongs to the context of its job. Each run is a job of its own, with the labels `schedule` and `slot`, the time it was due at.
/// A call whose answer was lost can be repeated where it had an `idempotency_key`: it gives the same schedule.
/// Whatever servers run or die, a run has one job. When the queue is full, the run waits for room. A time of day that the clock
/// leaves out is met when it goes on, and one that it shows twice is met once. A script that does not compile is refused (-32602, with
/// `error` as a failed job has it) if this server has a pool for its type.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateSchedule {
    #[serde(flatten)]
    spec: ScheduleSpec,
}

impl<'de> Deserialize<'de> for CreateSchedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ScheduleSpec::deserialize(deserializer).map(|spec| Self { spec })
    }
}

impl Method for CreateSchedule {
    const NAME: &'static str = "create_schedule";
    const TAG: &'static str = tag::SCHEDULES;
    const PERMISSION: Permission = Permission::Submit;
    const ERRORS: &'static [Code] = &[
        Code::State,
        Code::UnknownScriptType,
        Code::QueueFull,
        Code::TooLarge,
        Code::StoreUnavailable,
        Code::IdempotencyReused,
        Code::NotFound,
    ];
    const RESULT: &'static str = "The schedule.";
    type Output = Schedule;

    fn examples() -> Vec<Example<Self, Schedule>> {
        let job = || JobSpec { script: "40 + 2".into(), ..JobSpec::default() };
        let minutes = ScheduleSpec { job: job(), every: hero_model::Seconds::new(300.0), ..ScheduleSpec::default() };
        let another = "1a2f3e4d-5b6c-4d7e-8f90-a1b2c3d4e5f6".parse().expect("a UUID");
        let mut each_five_minutes = minutes.clone().shown(another, sample::time(0));
        each_five_minutes.next_runs = (1..=5).map(|run| sample::time(run * 300_000)).collect();
        vec![
            Example { name: "weekdays", params: Self { spec: sample::schedule_spec() }, result: sample::schedule() },
            Example { name: "each five minutes", params: Self { spec: minutes }, result: each_five_minutes },
        ]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewJobs(self.spec.job.context_id, vec![&self.spec.job])
    }

    fn made(made: &Self::Output) -> Option<String> {
        Some(object("schedule", &made.schedule_id))
    }

    async fn call(mut self, app: &App, session: &Session) -> Result<Schedule, Error> {
        self.spec.job = signed(self.spec.job, session);
        Ok(app.dispatcher.create_schedule(self.spec).await?)
    }
}

/// Lists schedules in the order of their next runs.
///
/// A schedule that runs meanwhile may be on two pages; none is left out. A page can have fewer schedules than asked for, or none, and still not
/// be the last: that one has no `next_cursor`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSchedules {
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The most schedules to give.
    #[serde(default)]
    limit: PageSize,
    /// Only schedules that this caller created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    caller_id: Option<String>,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListSchedules {
    const NAME: &'static str = "list_schedules";
    const TAG: &'static str = tag::SCHEDULES;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The schedules.";
    type Output = SchedulePage;

    fn examples() -> Vec<Example<Self, SchedulePage>> {
        let params = Self { cursor: None, limit: PageSize::default(), caller_id: None, context_id: ContextId(0) };
        vec![Example { name: "schedules", params, result: SchedulePage { schedules: vec![sample::schedule()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::JobsOf(self.context_id, self.caller_id.as_deref())
    }

    async fn call(self, app: &App, _: &Session) -> Result<SchedulePage, Error> {
        let mut page = app.dispatcher.list_schedules(self.context_id, self.cursor.as_deref(), self.limit.get()).await?;
        if let Some(caller) = self.caller_id {
            page.schedules.retain(|schedule| schedule.job.caller_id.as_ref() == Some(&caller));
        }
        Ok(page)
    }
}

/// Deletes a schedule. Jobs that it has made stay. Gives true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSchedule {
    /// The schedule to delete.
    schedule_id: ScheduleId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteSchedule {
    const NAME: &'static str = "delete_schedule";
    const TAG: &'static str = tag::SCHEDULES;
    const PERMISSION: Permission = Permission::Submit;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        let params = Self { schedule_id: sample::schedule_id(), context_id: ContextId(0) };
        vec![Example { name: "delete", params, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Schedule(self.context_id, &self.schedule_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.dispatcher.delete_schedule(self.context_id, &self.schedule_id).await?;
        Ok(true)
    }
}
