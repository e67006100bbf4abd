use super::unexpected;
use crate::Error;
use crate::library::fcall::Function;
use crate::views::Schedules;
use hero_model::ScheduleId;

const FUNCTION: Function = Function("unschedule");

impl Schedules<'_> {
    /// Deletes a schedule, and returns whether it existed. If another server is just firing an occurrence, its job may or may not be
    /// created.
    pub async fn unschedule(self, id: &ScheduleId) -> Result<bool, Error> {
        self.call_unschedule(id, "").await
    }

    /// Deletes a schedule that has come to its end, or of which only the id is left.
    pub async fn clear(self, id: &ScheduleId) -> Result<bool, Error> {
        self.call_unschedule(id, "over").await
    }

    async fn call_unschedule(self, id: &ScheduleId, when: &str) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.as_str()).arg(when);
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "deleted" => Ok(true),
            "missing" | "kept" => Ok(false),
            reply => Err(unexpected("unschedule", &reply)),
        }
    }
}
