use std::time::Duration;

use super::calls::{CreateFlow, DeleteFlow, GetFlow, ListFlows, RetryFlow, StartFlow, StopFlow, WaitFlow};
use super::connection::{Client, MOST_LOST};
use super::error::{Error, code};
use hero_model::{ContextId, Flow, FlowId, FlowPage, FlowSpec, FlowStatus};

/// Maximum wait of one call.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);
/// The pause between two waits for the same flow.
const PAUSE_BETWEEN_WAITS: Duration = Duration::from_millis(100);

/// The methods for flows.
impl Client {
    /// Creates a flow and returns its number.
    pub async fn create_flow(&self, spec: &FlowSpec) -> Result<FlowId, Error> {
        self.call(&CreateFlow { spec: &self.keyed(spec, |spec| &mut spec.idempotency_key) }).await
    }

    /// Starts a created flow.
    pub async fn start_flow(&self, context_id: ContextId, flow_id: FlowId) -> Result<FlowStatus, Error> {
        self.call(&StartFlow { flow_id, context_id }).await
    }

    /// Like [`Client::start_flow`], for a flow that [`Client::create_flow`] returned for `spec`. With an idempotency
    /// key, it may be a flow that was started before.
    ///
    /// If the connection is lost before the answer, the flow is started again. A flow that is already started refuses
    /// that.
    pub async fn begin_flow(&self, spec: &FlowSpec, flow_id: FlowId) -> Result<(), Error> {
        let (mut may_be_started, mut lost) = (spec.idempotency_key.is_some(), 0);
        loop {
            match self.start_flow(spec.context_id, flow_id).await {
                Err(error) if may_be_started && error.has_code(code::STATE) => return Ok(()),
                Err(Error::Unknown { .. }) if lost < MOST_LOST && !self.is_over() => (may_be_started, lost) = (true, lost + 1),
                answer => return answer.map(drop),
            }
        }
    }

    /// Waits for the end of a flow, for at most `limit` if it is given.
    pub async fn wait_flow(&self, context_id: ContextId, flow_id: FlowId, limit: Option<Duration>) -> Result<Flow, Error> {
        let begun = tokio::time::Instant::now();
        loop {
            let left = limit.map_or(LONGEST_WAIT, |limit| limit.saturating_sub(begun.elapsed()));
            let wait = left.min(LONGEST_WAIT);
            match self.call_waiting(wait, |left| WaitFlow { flow_id, wait_timeout: Some(left), context_id }).await {
                // A server that shuts down answers early.
                Err(error) if error.is_wait_run_out() && limit.is_none_or(|limit| begun.elapsed() < limit) => {
                    tokio::time::sleep(PAUSE_BETWEEN_WAITS).await;
                }
                answer => return answer,
            }
        }
    }

    /// Returns a flow with all details.
    pub async fn get_flow(&self, context_id: ContextId, flow_id: FlowId) -> Result<Flow, Error> {
        self.call(&GetFlow { flow_id, context_id }).await
    }

    /// Returns a page of flows, the newest first: those of a caller, or all.
    pub async fn list_flows(
        &self,
        context_id: ContextId,
        caller_id: Option<&str>,
        cursor: Option<&str>,
        limit: usize,
    ) -> Result<FlowPage, Error> {
        self.call(&ListFlows { cursor, limit: Some(limit), caller_id, context_id }).await
    }

    /// Stops all jobs of a flow that have not ended.
    pub async fn stop_flow(&self, context_id: ContextId, flow_id: FlowId) -> Result<FlowStatus, Error> {
        self.call(&StopFlow { flow_id, context_id }).await
    }

    /// Runs the jobs of a flow again that ended in error.
    pub async fn retry_flow(&self, context_id: ContextId, flow_id: FlowId) -> Result<FlowStatus, Error> {
        self.call(&RetryFlow { flow_id, context_id }).await
    }

    /// Deletes a flow that does not run, with its jobs.
    pub async fn delete_flow(&self, context_id: ContextId, flow_id: FlowId) -> Result<(), Error> {
        self.call(&DeleteFlow { flow_id, context_id }).await.map(drop)
    }
}
