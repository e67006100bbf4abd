use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::job::signed;
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{JobSpec, Schedule, ScheduleSpec};

/// Creates a schedule, which runs a job by `cron` or at an interval (`every`). Returns the schedule, with its next runs.
///
/// It belongs to the context of its job. Each run is a separate job, with the labels `schedule` and `slot`, the time at
/// which it was due. With an `idempotency_key`, a call whose answer was lost can be repeated, and returns the same
/// schedule. Each run has exactly one job, whichever servers run or die. When the queue is full, the run waits for
/// room. A time of day that the clock skips is due right after the gap; one that it shows twice is due once. A script
/// that does not compile is refused (-32602, with the `error` of a failed job) if this server has a pool for its type.
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
    const EFFECT: Effect = Effect::RunsWithKey;
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
        Ok(app.dispatcher.schedules().create(self.spec).await?)
    }
}
