use super::unexpected;
use crate::model::{Overlap, ScheduleId, Timestamp};
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("skip_missed");

/// An occurrence of a schedule that is to be fired: once, by whichever server is first.
#[derive(Debug, Clone, PartialEq)]
pub struct Firing {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The occurrence that the schedule waits for. When it is another one by then, nothing happens.
    pub expected: Timestamp,
    /// The occurrence that is fired: this one, or a later one.
    pub occurrence: Timestamp,
    /// The occurrence it waits for afterwards; none when it has come to its end.
    pub next: Option<Timestamp>,
    /// How many occurrences are left out, because no server ran.
    pub missed: u64,
    /// What happens when the job of the occurrence before has not ended.
    pub overlap: Overlap,
}

impl Firing {
    /// The occurrence as `schedules.lua` reads it, for the job of this number, counted from 1.
    pub(super) fn argument(&self, number: usize) -> String {
        let next = self.next.map_or_else(|| "-".to_owned(), |next| next.as_millis().to_string());
        let (expected, occurrence) = (self.expected.as_millis(), self.occurrence.as_millis());
        format!("{number} {} {expected} {occurrence} {next} {} {};", self.schedule, self.missed, self.overlap.as_str())
    }
}

impl Store {
    /// Has a schedule move on without a job. False: it waits for another occurrence than was expected, or is gone.
    pub async fn skip_missed(&self, firing: &Firing) -> Result<bool, Error> {
        let mut call = self.0.call(&FUNCTION);
        // Without a job nothing overlaps.
        call.arg(Firing { overlap: Overlap::Allow, ..firing.clone() }.argument(1));
        match self.0.commands.function::<String>(&call).await?.as_str() {
            "skipped" => Ok(true),
            "fired" => Ok(false),
            reply => Err(unexpected("skip_missed", &reply)),
        }
    }
}
