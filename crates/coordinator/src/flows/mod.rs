//! Flows: jobs that belong together, and wait for each other.
//!
//! A flow is a hash that counts how many of its jobs have not ended; whatever changes a job counts along, in the same step
//! (`crates/store/src/lua/flows.lua`). What is done with all jobs of a flow is done in rounds, by whoever asked for it, and by the [`Resumer`] of any
//! server where that one is gone.

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
pub use mermaid::graph as drawn;
pub use resumer::Resumer;

use crate::Runners;
use hero_jobs::dispatch::{self, Dispatcher, InUse};
use hero_model::{ContextId, FlowId, FlowStatus};
use hero_store::{self as store, Advanced, FlowAction, Store};

/// Creates, starts, waits for and stops flows. Cheap to clone.
#[derive(Clone)]
pub struct Flows {
    dispatcher: Dispatcher,
    runners: Runners,
}

/// So many rounds one call does at most: what is left the resumer does.
const MOST_ROUNDS: usize = 256;

impl Flows {
    /// Flows whose jobs this dispatcher looks after.
    pub fn new(dispatcher: Dispatcher) -> Self {
        Self { runners: Runners::new(dispatcher.clone()), dispatcher }
    }

    /// Starts a flow that was made and not started yet.
    pub async fn start(&self, context: ContextId, flow: FlowId) -> Result<FlowStatus, Error> {
        self.advance(context, flow, FlowAction::Start, "started; only one that nobody has started can be").await
    }

    /// Stops all jobs of a flow that have not ended. Running scripts are told to end, and have not obeyed yet when this returns.
    pub async fn stop(&self, context: ContextId, flow: FlowId) -> Result<FlowStatus, Error> {
        self.advance(context, flow, FlowAction::Stop, "stopped").await
    }

    /// Runs those jobs of a flow again that ended in error, or never ran because others did.
    pub async fn retry(&self, context: ContextId, flow: FlowId) -> Result<FlowStatus, Error> {
        self.advance(context, flow, FlowAction::Retry, "retried; only one that has ended in error can be").await
    }

    /// Deletes a flow that does not run, with its jobs.
    pub async fn delete(&self, context: ContextId, flow: FlowId) -> Result<(), Error> {
        self.advance(context, flow, FlowAction::Delete, "deleted; stop it first").await.map(drop)
    }

    async fn store(&self, context: ContextId) -> Result<InUse, Error> {
        Ok(self.dispatcher.store(context).await?)
    }

    /// Begins something with all jobs of a flow, and does it as far as queues have room.
    async fn advance(&self, context: ContextId, flow: FlowId, action: FlowAction, done: &'static str) -> Result<FlowStatus, Error> {
        match drive(&*self.store(context).await?, flow, action).await? {
            Advanced::Done(status) | Advanced::More(status) | Advanced::Later(status) => Ok(status),
            Advanced::Missing => Err(Error::NotFound(flow)),
            Advanced::Illegal(status) => Err(Error::State { flow, status, action: done }),
            Advanced::Busy(with) => Err(Error::Busy { flow, with }),
        }
    }
}

/// Does something with all jobs of a flow, round by round.
async fn drive(store: &Store, flow: FlowId, action: FlowAction) -> Result<Advanced, Error> {
    let mut advanced = store.flows().advance(flow, action).await.map_err(failed)?;
    for _ in 0..MOST_ROUNDS {
        if !matches!(advanced, Advanced::More(_)) {
            break;
        }
        advanced = match store.flows().advance(flow, FlowAction::On).await.map_err(failed)? {
            // It was deleted meanwhile, or this deleted it.
            Advanced::Missing => return Ok(advanced),
            advanced => advanced,
        };
    }
    Ok(advanced)
}

fn failed(error: store::Error) -> Error {
    Error::Dispatch(dispatch::Error::of_store(error))
}
