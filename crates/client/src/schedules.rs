use super::calls::{CreateSchedule, DeleteSchedule, ListSchedules};
use super::connection::Client;
use super::error::Error;
use hero_model::{ContextId, Schedule, ScheduleId, SchedulePage, ScheduleSpec};

/// The methods for schedules.
impl Client {
    /// Stores a schedule and returns it with its next runs.
    pub async fn create_schedule(&self, spec: &ScheduleSpec) -> Result<Schedule, Error> {
        self.call(&CreateSchedule { spec: &self.keyed(spec, |spec| &mut spec.idempotency_key) }).await
    }

    /// Returns a page of schedules, in the order of their next runs: those of a caller, or all.
    pub async fn list_schedules(
        &self,
        context_id: ContextId,
        caller_id: Option<&str>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SchedulePage, Error> {
        self.call(&ListSchedules { cursor, limit: Some(limit), caller_id, context_id }).await
    }

    /// Deletes a schedule.
    pub async fn delete_schedule(&self, context_id: ContextId, schedule_id: &ScheduleId) -> Result<(), Error> {
        self.call(&DeleteSchedule { schedule_id, context_id }).await.map(drop)
    }
}
