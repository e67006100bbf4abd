// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Subscription;
use hero_model::{ContextId, FlowEvent, FlowId, JobEvent, JobFilter, JobId, LogLine};

/// Follows a job to its end. Without a cursor, the first item is the current state.
#[derive(Serialize)]
pub struct SubscribeJob<'a> {
    /// The job to follow.
    pub job_id: &'a JobId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Subscription for SubscribeJob<'_> {
    const TOPIC: &'static str = "job";
    type Item = JobEvent;
}

/// Follows a flow to its end. The first item is the current state of the flow. Then follow one item for each change of
/// a job, the end of the flow, and `ended`. With a cursor, the changes after it come first. An item without a `job` is
/// the current state of the flow; it also stands for changes of jobs that were lost because the subscriber reads too
/// slowly.
#[derive(Serialize)]
pub struct SubscribeFlow {
    /// The flow to follow.
    pub flow_id: FlowId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Subscription for SubscribeFlow {
    const TOPIC: &'static str = "flow";
    type Item = FlowEvent;
}

/// Follows every change of the jobs that match a filter, from now on or from a cursor. Without a cursor, the first item
/// has the cursor where the subscription begins.
#[derive(Default, Serialize)]
pub struct SubscribeEvents<'a> {
    /// The conditions, all of which a job must meet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<&'a JobFilter>,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Subscription for SubscribeEvents<'_> {
    const TOPIC: &'static str = "events";
    type Item = JobEvent;
}

/// Follows the log of a job, from its first line or from a cursor. The subscription ends when the job has ended and its
/// last line was sent.
#[derive(Serialize)]
pub struct SubscribeLogs<'a> {
    /// The job whose log to follow.
    pub job_id: &'a JobId,
    /// The context the job belongs to.
    pub context_id: ContextId,
}

impl Subscription for SubscribeLogs<'_> {
    const TOPIC: &'static str = "logs";
    type Item = LogLine;
}
