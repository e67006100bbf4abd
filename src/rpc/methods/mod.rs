//! The methods and subscriptions, a file per noun.

pub mod actor;
pub mod event;
pub mod explanation;
pub mod function;
pub mod identity;
pub mod job;
pub mod log;
mod notice;
pub mod object;
mod page;
pub mod queue;
pub mod result;
pub mod rights;
mod sample;
pub mod schedule;
pub mod server;
pub mod token;
mod wait;

pub use notice::{Ended, EventNotice, Lagged, LogNotice};
pub use page::PageSize;
pub use wait::{LONGEST_WAIT, Wait};

/// The groups of methods in the document.
mod tag {
    pub(super) const JOBS: &str = "jobs";
    pub(super) const SCHEDULES: &str = "schedules";
    pub(super) const OBJECTS: &str = "objects";
    pub(super) const ACCESS: &str = "access";
    pub(super) const OPERATION: &str = "operation";
    pub(super) const SUBSCRIPTIONS: &str = "subscriptions";
}

/// Whether a parameter has the value that it has when it is not given.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
