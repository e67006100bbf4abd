// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{ContextId, Schedule, ScheduleId, SchedulePage, ScheduleSpec};

/// Creates a schedule, which runs a job by `cron` or at an interval (`every`). Returns the schedule, with its next
/// runs. It belongs to the context of its job. Each run is a separate job, with the labels `schedule` and `slot`, the
/// time at which it was due. With an `idempotency_key`, a call whose answer was lost can be repeated, and returns the
/// same schedule. Each run has exactly one job, whichever servers run or die. When the queue is full, the run waits for
/// room. A time of day that the clock skips is due right after the gap; one that it shows twice is due once. A script
/// that does not compile is refused (-32602, with the `error` of a failed job) if this server has a pool for its type.
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
/// out. A page may have fewer schedules than `limit`, or none, although more follow: only the last page has no
/// `next_cursor`.
#[derive(Default, Serialize)]
pub struct ListSchedules<'a> {
    /// The `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of schedules.
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

/// Deletes a schedule. Its existing jobs stay. Returns true.
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
