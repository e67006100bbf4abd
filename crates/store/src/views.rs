//! The methods of a [`Store`], grouped by subject. Each view borrows the store and costs nothing to make.
//!
//! A method that calls a function of the library has its name, without the word that the name of the view already has:
//! `store.flows().create(…)` calls `create_flow.lua`.

use std::sync::Arc;

use crate::{Inner, Store};

/// Jobs: created, started, stopped, read, listed and deleted; their logs, and the times at which they are due.
#[derive(Clone, Copy)]
pub struct Jobs<'a>(pub(crate) &'a Arc<Inner>);

/// Queues, and the leases of the jobs that were fetched from them: fetching, renewing, pausing, recovering, stop
/// requests of other programs.
#[derive(Clone, Copy)]
pub struct Queues<'a>(pub(crate) &'a Arc<Inner>);

/// Flows: groups of jobs that depend on each other.
#[derive(Clone, Copy)]
pub struct Flows<'a>(pub(crate) &'a Arc<Inner>);

/// Messages to and from other contexts and nodes, and the jobs and results that they carry.
#[derive(Clone, Copy)]
pub struct Messages<'a>(pub(crate) &'a Arc<Inner>);

/// Runners: the group or node that runs messages with a topic.
#[derive(Clone, Copy)]
pub struct Runners<'a>(pub(crate) &'a Arc<Inner>);

/// The context of this store; and in the store of context 0, the list of all contexts.
#[derive(Clone, Copy)]
pub struct Contexts<'a>(pub(crate) &'a Arc<Inner>);

/// Objects of scripts, in collections with indexes.
#[derive(Clone, Copy)]
pub struct Objects<'a>(pub(crate) &'a Arc<Inner>);

/// Schedules, which create jobs at set times.
#[derive(Clone, Copy)]
pub struct Schedules<'a>(pub(crate) &'a Arc<Inner>);

/// Identities, tokens and logins, and the rights in the context.
#[derive(Clone, Copy)]
pub struct Access<'a>(pub(crate) &'a Arc<Inner>);

/// Actors: the live ones, and the holders of registrations.
#[derive(Clone, Copy)]
pub struct Actors<'a>(pub(crate) &'a Arc<Inner>);

/// Queues and jobs in the layout of conveyor.
#[derive(Clone, Copy)]
pub struct Conveyor<'a>(pub(crate) &'a Arc<Inner>);

/// Limits of the context, which an operator may change while it is open.
#[derive(Clone, Copy)]
pub struct Limits<'a>(pub(crate) &'a Arc<Inner>);

/// The stream of changes of jobs.
#[derive(Clone, Copy)]
pub struct Events<'a>(pub(crate) &'a Arc<Inner>);

/// The state of Redis: whether it answers, its identity, its memory use, its spoilt keys.
#[derive(Clone, Copy)]
pub struct Health<'a>(pub(crate) &'a Arc<Inner>);

/// The work of loops: finding what other programs wrote, and removing what is no longer needed.
#[derive(Clone, Copy)]
pub struct Maintenance<'a>(pub(crate) &'a Arc<Inner>);

impl Store {
    /// The jobs.
    pub fn jobs(&self) -> Jobs<'_> {
        Jobs(&self.0)
    }

    /// The queues and the leases of jobs.
    pub fn queues(&self) -> Queues<'_> {
        Queues(&self.0)
    }

    /// The flows.
    pub fn flows(&self) -> Flows<'_> {
        Flows(&self.0)
    }

    /// The messages.
    pub fn messages(&self) -> Messages<'_> {
        Messages(&self.0)
    }

    /// The runners.
    pub fn runners(&self) -> Runners<'_> {
        Runners(&self.0)
    }

    /// This context, and in context 0 the list of all contexts.
    pub fn contexts(&self) -> Contexts<'_> {
        Contexts(&self.0)
    }

    /// The objects of scripts.
    pub fn objects(&self) -> Objects<'_> {
        Objects(&self.0)
    }

    /// The schedules.
    pub fn schedules(&self) -> Schedules<'_> {
        Schedules(&self.0)
    }

    /// Identities, tokens and rights.
    pub fn access(&self) -> Access<'_> {
        Access(&self.0)
    }

    /// The actors.
    pub fn actors(&self) -> Actors<'_> {
        Actors(&self.0)
    }

    /// The queues and jobs in the layout of conveyor.
    pub fn conveyor(&self) -> Conveyor<'_> {
        Conveyor(&self.0)
    }

    /// The limits of this context.
    pub fn limits(&self) -> Limits<'_> {
        Limits(&self.0)
    }

    /// The changes of jobs.
    pub fn events(&self) -> Events<'_> {
        Events(&self.0)
    }

    /// The state of Redis.
    pub fn health(&self) -> Health<'_> {
        Health(&self.0)
    }

    /// The work of loops.
    pub fn maintenance(&self) -> Maintenance<'_> {
        Maintenance(&self.0)
    }
}
