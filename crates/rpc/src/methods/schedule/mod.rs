//! Schedules: jobs that run again and again.

mod create;
mod delete;
mod list;

pub use create::CreateSchedule;
pub use delete::DeleteSchedule;
pub use list::ListSchedules;
