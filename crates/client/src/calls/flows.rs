// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{ContextId, Flow, FlowId, FlowPage, FlowSpec, FlowStatus, Seconds};

/// Makes a flow: jobs by their names, which wait for each other as `depends_on` says. Gives its number. Nothing runs
/// before `start_flow`. Either the whole flow is made, or nothing. A script sees what the jobs gave that it depends on
/// as `inputs.NAME`. A call whose answer was lost can be repeated where it had an `idempotency_key`: it gives the same
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

/// Makes a flow, starts it, waits for its end and gives all that is known of it. A flow that ends badly is an error,
/// which names the jobs that failed. When the wait runs out the flow goes on, and `get_flow` and `subscribe_flow` show
/// how.
#[derive(Serialize)]
pub struct RunFlowAndWait<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub spec: &'a FlowSpec,
    /// How many seconds to wait; 0 looks once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
}

impl Call for RunFlowAndWait<'_> {
    const NAME: &'static str = "run_flow_and_wait";
    type Output = Flow;
}

/// Starts a flow that was made. Gives its status.
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

/// Waits for the end of a flow and gives all that is known of it. One that ends badly is an error.
#[derive(Serialize)]
pub struct WaitFlow {
    /// The flow to wait for.
    pub flow_id: FlowId,
    /// How many seconds to wait; 0 looks once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_timeout: Option<Seconds>,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for WaitFlow {
    const NAME: &'static str = "wait_flow";
    type Output = Flow;
}

/// Gives all that is known of a flow: its status, each of its jobs with its times, what they gave, and the graph of
/// them for Mermaid.
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

/// Lists flows, the newest first. A page can have fewer flows than asked for, or none, and still not be the last: that
/// one has no `next_cursor`.
#[derive(Default, Serialize)]
pub struct ListFlows<'a> {
    /// The `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most flows to give.
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

/// Stops all jobs of a flow that have not ended. Gives the status of the flow, whose running scripts may not have
/// obeyed yet.
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

/// Runs those jobs of a flow again that ended in error, with all that never ran because of them. Gives the status of
/// the flow.
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

/// Deletes a flow that does not run, with its jobs. Gives true.
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
