use serde_json::json;

use super::connection::Client;
use super::error::Error;
use super::list::List;
use hero_model::{ContextId, Schedule, ScheduleId, SchedulePage, ScheduleSpec};

/// The methods for schedules.
impl Client {
    /// Stores a schedule and returns it with its next runs.
    pub async fn create_schedule(&self, spec: &ScheduleSpec) -> Result<Schedule, Error> {
        self.call("create_schedule", self.keyed(spec)).await
    }

    /// Returns a page of schedules, in the order of their next runs: those of a caller, or all.
    pub async fn list_schedules(
        &self,
        context_id: ContextId,
        caller_id: Option<&str>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<SchedulePage, Error> {
        self.call("list_schedules", List { caller_id, cursor, limit, context_id }).await
    }

    /// Deletes a schedule.
    pub async fn delete_schedule(&self, context_id: ContextId, schedule_id: &ScheduleId) -> Result<(), Error> {
        self.call::<bool>("delete_schedule", json!({ "schedule_id": schedule_id, "context_id": context_id })).await.map(drop)
    }
}
