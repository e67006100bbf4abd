//! Reads what the user gives: options, files and scripts.

pub(super) mod arguments;
pub(super) mod choices;
pub(super) mod compiled;
pub(super) mod environment;
pub(super) mod language;
pub(super) mod paging;
pub(super) mod pair;
pub(super) mod script;
pub(super) mod spec;
pub(super) mod typed;
