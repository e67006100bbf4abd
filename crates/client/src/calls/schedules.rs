// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{ContextId, Schedule, ScheduleId, SchedulePage, ScheduleSpec};

/// Has a job run again and again, by `cron` or `every` so many seconds. Gives the schedule, with its next runs. It
/// belongs to the context of its job. Each run is a job of its own, with the labels `schedule` and `slot`, the time it
/// was due at. A call whose answer was lost can be repeated where it had an `idempotency_key`: it gives the same
/// schedule. Whatever servers run or die, a run has one job. When the queue is full, the run waits for room. A time of
/// day that the clock leaves out is met when it goes on, and one that it shows twice is met once. A script that does
/// not compile is refused (-32602, with `error` as a failed job has it) if this server has a pool for its type.
#[derive(Serialize)]
pub struct CreateSchedule<'a> {
    /// The parameters.
    #[serde(flatten)]
    pub spec: &'a ScheduleSpec,
}

impl Call for CreateSchedule<'_> {
    const NAME: &'static str = "create_schedule";
    type Output = Schedule;
}

/// Lists schedules in the order of their next runs. A schedule that runs meanwhile may be on two pages; none is left
/// out. A page can have fewer schedules than asked for, or none, and still not be the last: that one has no
/// `next_cursor`.
#[derive(Default, Serialize)]
pub struct ListSchedules<'a> {
    /// The `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most schedules to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only schedules that this caller created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_id: Option<&'a str>,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListSchedules<'_> {
    const NAME: &'static str = "list_schedules";
    type Output = SchedulePage;
}

/// Deletes a schedule. Jobs that it has made stay. Gives true.
#[derive(Serialize)]
pub struct DeleteSchedule<'a> {
    /// The schedule to delete.
    pub schedule_id: &'a ScheduleId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for DeleteSchedule<'_> {
    const NAME: &'static str = "delete_schedule";
    type Output = bool;
}
