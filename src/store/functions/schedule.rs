use super::unexpected;
use crate::model::{ScheduleId, ScheduleSpec, Timestamp};
use crate::store::codec::json;
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("schedule");

/// No context has more schedules.
const MOST: usize = 10_000;

/// What became of a schedule that was to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// It is stored.
    Created,
    /// Another schedule has its id.
    Exists,
    /// The context has so many schedules that it takes no more.
    Full(usize),
}

impl Store {
    /// Stores a schedule with its first occurrence.
    pub async fn schedule(
        &self,
        id: &ScheduleId,
        spec: &ScheduleSpec,
        created_at: Timestamp,
        first: Timestamp,
    ) -> Result<Scheduling, Error> {
        let mut call = self.0.call(&FUNCTION);
        call.arg(id.as_str()).arg(first.as_millis()).arg(MOST).arg(json(spec)).arg(created_at.to_string());
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "created" => Ok(Scheduling::Created),
            "exists" => Ok(Scheduling::Exists),
            "full" => Ok(Scheduling::Full(MOST)),
            reply => Err(unexpected("schedule", &reply)),
        }
    }
}
