//! The methods and subscriptions: a folder for each noun, with a file for each method, which holds everything about the method.

pub mod actor;
pub mod context;
pub mod flow;
pub mod identity;
pub mod job;
pub mod login;
pub mod message;
mod notice;
pub mod object;
mod page;
pub mod queue;
pub mod rights;
pub mod runner;
mod sample;
pub mod schedule;
pub mod script;
pub mod server;
pub mod token;
mod wait;

pub use page::PageSize;
pub use wait::{LONGEST_WAIT, Wait};

/// The groups of methods in the document.
mod tag {
    pub(super) const JOBS: &str = "jobs";
    pub(super) const FLOWS: &str = "flows";
    pub(super) const SCHEDULES: &str = "schedules";
    pub(super) const OBJECTS: &str = "objects";
    pub(super) const COORDINATOR: &str = "coordinator";
    pub(super) const ACCESS: &str = "access";
    pub(super) const OPERATION: &str = "operation";
    pub(super) const SUBSCRIPTIONS: &str = "subscriptions";
}

/// Whether a parameter has its default value.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
