//! The methods of a [`Dispatcher`], grouped by what they act on. Each view borrows the dispatcher and costs nothing to
//! make.
//!
//! A view has at most 40 methods; `tests/it/floors/views.rs` counts them.

use super::Dispatcher;

/// Jobs: creating, starting, waiting for, reading, listing, stopping and deleting them.
#[derive(Clone, Copy)]
pub struct JobCalls<'a>(pub(super) &'a Dispatcher);

/// Contexts: which are open in this process, and their stores.
#[derive(Clone, Copy)]
pub struct ContextCalls<'a>(pub(super) &'a Dispatcher);

impl Dispatcher {
    /// The jobs.
    pub fn jobs(&self) -> JobCalls<'_> {
        JobCalls(self)
    }

    /// The contexts that are open in this process.
    pub fn contexts(&self) -> ContextCalls<'_> {
        ContextCalls(self)
    }
}
