//! Says what went wrong, and what to do about it.

pub(super) mod advice;
pub(super) mod report;
pub(super) mod script_error;
pub(super) mod tip;
pub(super) mod translate;
pub(super) mod unanswered;
