//! Flows: jobs that belong together and depend on each other.
//!
//! A flow is a hash that counts its jobs that have not ended. Every change of a job updates the count in the same step
//! (`crates/store/src/lua/flows.lua`). An operation on all jobs of a flow runs in rounds. The caller drives them; if it
//! is gone, the [`Resumer`] of any server does.

mod create;
mod error;
mod follow;
mod graph;
mod mermaid;
mod read;
mod resumer;
mod wait;

pub use error::{Error, Failure};
pub use graph::{Problem, order, problems};
pub use mermaid::to_mermaid;
pub use resumer::Resumer;

use crate::Runners;
use hero_jobs::dispatch::{Dispatcher, OpenContext};
use hero_model::{ContextId, FlowId, FlowStatus};
use hero_store::{Advanced, FlowAction, Store};

/// Creates, starts, waits for and stops flows. Cheap to clone.
#[derive(Clone)]
pub struct Flows {
    dispatcher: Dispatcher,
    runners: Runners,
}

/// Maximum number of rounds of one call. The resumer does the rest.
const MOST_ROUNDS: usize = 256;

impl Flows {
    /// Creates an interface to the flows of a dispatcher.
    pub fn new(dispatcher: Dispatcher) -> Self {
        Self { runners: Runners::new(dispatcher.clone()), dispatcher }
    }

    /// Starts a flow that was created and not started yet.
    pub async fn start(&self, context: ContextId, flow: FlowId) -> Result<FlowStatus, Error> {
        self.advance(context, flow, FlowAction::Start, "started; only one that nobody has started can be").await
    }

    /// Stops all jobs of a flow that have not ended. Running scripts get a stop request, and may still run when this
    /// returns.
    pub async fn stop(&self, context: ContextId, flow: FlowId) -> Result<FlowStatus, Error> {
        self.advance(context, flow, FlowAction::Stop, "stopped").await
    }

    /// Runs the jobs of a flow again that ended in error, or never ran because others did.
    pub async fn retry(&self, context: ContextId, flow: FlowId) -> Result<FlowStatus, Error> {
        self.advance(context, flow, FlowAction::Retry, "retried; only one that has ended in error can be").await
    }

    /// Deletes a flow that does not run, with its jobs.
    pub async fn delete(&self, context: ContextId, flow: FlowId) -> Result<(), Error> {
        self.advance(context, flow, FlowAction::Delete, "deleted; stop it first").await.map(drop)
    }

    async fn store(&self, context: ContextId) -> Result<OpenContext, Error> {
        Ok(self.dispatcher.contexts().store(context).await?)
    }

    /// Starts an operation on all jobs of a flow, and continues it as far as queues have room.
    async fn advance(&self, context: ContextId, flow: FlowId, action: FlowAction, done: &'static str) -> Result<FlowStatus, Error> {
        match drive(&*self.store(context).await?, flow, action).await? {
            Advanced::Done(status) | Advanced::More(status) | Advanced::Later(status) => Ok(status),
            Advanced::Missing => Err(Error::NotFound(flow)),
            Advanced::Illegal(status) => Err(Error::State { flow, status, action: done }),
            Advanced::Busy(with) => Err(Error::Busy { flow, with }),
        }
    }
}

/// Runs an operation on all jobs of a flow, round by round.
async fn drive(store: &Store, flow: FlowId, action: FlowAction) -> Result<Advanced, Error> {
    let mut advanced = store.flows().advance(flow, action).await?;
    for _ in 0..MOST_ROUNDS {
        if !matches!(advanced, Advanced::More(_)) {
            break;
        }
        advanced = match store.flows().advance(flow, FlowAction::Continue).await? {
            // It was deleted meanwhile, or this deleted it.
            Advanced::Missing => return Ok(advanced),
            advanced => advanced,
        };
    }
    Ok(advanced)
}
