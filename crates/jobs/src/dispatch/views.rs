//! The methods of a [`Dispatcher`], grouped by what they act on. Each view borrows the dispatcher and costs nothing to
//! make.
//!
//! A view has at most 40 methods; `tests/it/floors/views.rs` counts them.

use super::Dispatcher;

/// Jobs: creating, starting, waiting for, reading, listing, stopping and deleting them.
#[derive(Clone, Copy)]
pub struct JobCalls<'a>(pub(super) &'a Dispatcher);

/// Schedules, which create jobs at set times.
#[derive(Clone, Copy)]
pub struct ScheduleCalls<'a>(pub(super) &'a Dispatcher);

/// The logs of jobs.
#[derive(Clone, Copy)]
pub struct LogCalls<'a>(pub(super) &'a Dispatcher);

/// The changes of all jobs of a context.
#[derive(Clone, Copy)]
pub struct EventCalls<'a>(pub(super) &'a Dispatcher);

/// Queues: listing, pausing and resuming them.
#[derive(Clone, Copy)]
pub struct QueueCalls<'a>(pub(super) &'a Dispatcher);

/// Actors: the live ones, and those that cannot run here.
#[derive(Clone, Copy)]
pub struct ActorCalls<'a>(pub(super) &'a Dispatcher);

/// Contexts: which are open in this process, and their stores.
#[derive(Clone, Copy)]
pub struct ContextCalls<'a>(pub(super) &'a Dispatcher);

/// The operations of the legacy layout, by their names there.
#[derive(Clone, Copy)]
pub struct LegacyCalls<'a>(pub(super) &'a Dispatcher);

impl Dispatcher {
    /// The jobs.
    pub fn jobs(&self) -> JobCalls<'_> {
        JobCalls(self)
    }

    /// The schedules.
    pub fn schedules(&self) -> ScheduleCalls<'_> {
        ScheduleCalls(self)
    }

    /// The logs of jobs.
    pub fn logs(&self) -> LogCalls<'_> {
        LogCalls(self)
    }

    /// The changes of all jobs of a context.
    pub fn events(&self) -> EventCalls<'_> {
        EventCalls(self)
    }

    /// The queues.
    pub fn queues(&self) -> QueueCalls<'_> {
        QueueCalls(self)
    }

    /// The actors.
    pub fn actors(&self) -> ActorCalls<'_> {
        ActorCalls(self)
    }

    /// The contexts that are open in this process.
    pub fn contexts(&self) -> ContextCalls<'_> {
        ContextCalls(self)
    }

    /// The operations of the legacy layout.
    pub fn legacy(&self) -> LegacyCalls<'_> {
        LegacyCalls(self)
    }
}
