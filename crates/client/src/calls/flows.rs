// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{ContextId, Flow, FlowId, FlowPage, FlowSpec, FlowStatus, Seconds};

/// Creates a flow: named jobs, which wait for each other by `depends_on`. Returns its number. Nothing runs before
/// `start_flow`. The call creates the whole flow, or nothing. A script reads the results of the jobs that it depends on
/// as `inputs.NAME`. With an `idempotency_key`, a call whose answer was lost can be repeated, and returns the same
/// flow.
#[derive(Serialize)]
pub struct CreateFlow<'a> {
    /// The parameters.
    #[serde(flatten)]
    pub spec: &'a FlowSpec,
}

impl Call for CreateFlow<'_> {
    const NAME: &'static str = "create_flow";
    type Output = FlowId;
}

/// Creates a flow, starts it, waits for its end and returns everything that is known about it. A flow that ends in
/// error is a JSON-RPC error, which names the failed jobs. When the wait runs out, the flow continues; `get_flow` and
/// `subscribe_flow` show its progress.
#[derive(Serialize)]
pub struct RunFlowAndWait<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub spec: &'a FlowSpec,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
}

impl Call for RunFlowAndWait<'_> {
    const NAME: &'static str = "run_flow_and_wait";
    type Output = Flow;
}

/// Starts a created flow. Returns its status.
#[derive(Serialize)]
pub struct StartFlow {
    /// The flow to start.
    pub flow_id: FlowId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for StartFlow {
    const NAME: &'static str = "start_flow";
    type Output = FlowStatus;
}

/// Waits for the end of a flow and returns everything that is known about it. A flow that ends in error is a JSON-RPC
/// error.
#[derive(Serialize)]
pub struct WaitFlow {
    /// The flow to wait for.
    pub flow_id: FlowId,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for WaitFlow {
    const NAME: &'static str = "wait_flow";
    type Output = Flow;
}

/// Returns a flow: its status, its jobs with their times, their results, and their graph for Mermaid.
#[derive(Serialize)]
pub struct GetFlow {
    /// The flow to look at.
    pub flow_id: FlowId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for GetFlow {
    const NAME: &'static str = "get_flow";
    type Output = Flow;
}

/// Lists flows, newest first. A page may have fewer flows than `limit`, or none, although more follow: only the last
/// page has no `next_cursor`.
#[derive(Default, Serialize)]
pub struct ListFlows<'a> {
    /// The `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only flows that this caller created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_id: Option<&'a str>,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListFlows<'_> {
    const NAME: &'static str = "list_flows";
    type Output = FlowPage;
}

/// Stops all jobs of a flow that have not ended. Returns the status of the flow. Its running scripts may not have ended
/// yet.
#[derive(Serialize)]
pub struct StopFlow {
    /// The flow to stop.
    pub flow_id: FlowId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for StopFlow {
    const NAME: &'static str = "stop_flow";
    type Output = FlowStatus;
}

/// Retries the jobs of a flow that ended in error, and those that never ran because of them. Returns the status of the
/// flow.
#[derive(Serialize)]
pub struct RetryFlow {
    /// The flow to retry.
    pub flow_id: FlowId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for RetryFlow {
    const NAME: &'static str = "retry_flow";
    type Output = FlowStatus;
}

/// Deletes a flow that is not running, with its jobs. Returns true.
#[derive(Serialize)]
pub struct DeleteFlow {
    /// The flow to delete.
    pub flow_id: FlowId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for DeleteFlow {
    const NAME: &'static str = "delete_flow";
    type Output = bool;
}
