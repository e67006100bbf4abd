use super::unexpected;
use crate::model::{Overlap, ScheduleId, Timestamp};
use crate::store::fcall::Function;
use crate::store::{Error, Store};

const FUNCTION: Function = Function("skip_missed");

/// A slot of a schedule that is to be fired: once, by whichever server is first.
#[derive(Debug, Clone, PartialEq)]
pub struct Firing {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The slot that the schedule waits for. When it is another one by then, nothing happens.
    pub expected: Timestamp,
    /// The slot that is fired: this one, or a later one.
    pub slot: Timestamp,
    /// The slot it waits for afterwards; none when it has come to its end.
    pub next: Option<Timestamp>,
    /// How many slots are left out, because no server ran.
    pub missed: u64,
    /// What happens when the job of the slot before has not ended.
    pub overlap: Overlap,
}

impl Firing {
    /// The slot as `schedules.lua` reads it, for the job at a place, counted from 1.
    pub(super) fn argument(&self, place: usize) -> String {
        let next = self.next.map_or_else(|| "-".to_owned(), |next| next.as_millis().to_string());
        let (expected, slot) = (self.expected.as_millis(), self.slot.as_millis());
        format!("{place} {} {expected} {slot} {next} {} {};", self.schedule, self.missed, self.overlap.as_str())
    }
}

impl Store {
    /// Has a schedule move on without a job. False: it waits for another slot than was expected, or is gone.
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
