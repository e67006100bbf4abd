//! Keys of schedules. Functions build them, too.

use super::Keys;
use hero_model::ScheduleId;

impl Keys {
    /// Every schedule, by its next occurrence.
    pub fn schedules(&self) -> String {
        self.key(format_args!("meta:schedules"))
    }

    /// The hash of a schedule.
    pub fn schedule(&self, id: &ScheduleId) -> String {
        self.key(format_args!("schedule:{id}"))
    }

    /// The jobs of a schedule that may wait for one another.
    pub fn schedule_waiting(&self, id: &ScheduleId) -> String {
        self.key(format_args!("schedule:{id}:waiting"))
    }
}
