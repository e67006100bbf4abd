// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{
    Address, ContextId, Draft, Message, MessageList, MessagePage, MessageStatus, Pong, Runner, RunnerChange, RunnerId, RunnerPage,
};

/// Creates a runner, which runs the jobs of its script type whose `group` is `runner{runner_id}`. A local runner is a
/// pool of the context. The jobs of any other runner are sent as messages to its address.
#[derive(Serialize)]
pub struct CreateRunner<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub change: &'a RunnerChange,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for CreateRunner<'_> {
    const NAME: &'static str = "create_runner";
    type Output = Runner;
}

/// Changes a runner. Each given field replaces its old value.
#[derive(Serialize)]
pub struct UpdateRunner<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub change: &'a RunnerChange,
    /// The runner to change.
    pub runner_id: RunnerId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for UpdateRunner<'_> {
    const NAME: &'static str = "update_runner";
    type Output = Runner;
}

/// Returns a runner.
#[derive(Serialize)]
pub struct GetRunner {
    /// The runner to look at.
    pub runner_id: RunnerId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for GetRunner {
    const NAME: &'static str = "get_runner";
    type Output = Runner;
}

/// Lists runners by number.
#[derive(Default, Serialize)]
pub struct ListRunners<'a> {
    /// The `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of runners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListRunners<'_> {
    const NAME: &'static str = "list_runners";
    type Output = RunnerPage;
}

/// Deletes a runner. Its jobs stay in their queue, and its number is never reused. Returns true.
#[derive(Serialize)]
pub struct DeleteRunner {
    /// The runner to delete.
    pub runner_id: RunnerId,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for DeleteRunner {
    const NAME: &'static str = "delete_runner";
    type Output = bool;
}

/// Sends a message: the server stores it and delivers it in the background. The status of the message shows its
/// progress. Jobs of a message run at the other side, which sends back a message of type `result` for each.
#[derive(Serialize)]
pub struct SendMessage<'a> {
    /// The other parameters.
    #[serde(flatten)]
    pub draft: &'a Draft,
    /// The context it comes from.
    pub context_id: ContextId,
}

impl Call for SendMessage<'_> {
    const NAME: &'static str = "send_message";
    type Output = Message;
}

/// Pings the node at an address. Returns the route, the key of the node that answers, its clock, and the time that the
/// answer took. Nothing is stored. If nobody answers, `error` says why.
#[derive(Serialize)]
pub struct PingNode<'a> {
    /// The node to ask: `here`, `node:NAME`, `redis://…`, or a node of Mycelium.
    pub address: &'a Address,
    /// The context there.
    pub target_context: ContextId,
    /// The context that asks.
    pub context_id: ContextId,
}

impl Call for PingNode<'_> {
    const NAME: &'static str = "ping_node";
    type Output = Pong;
}

/// Returns a message.
#[derive(Serialize)]
pub struct GetMessage {
    /// The sender; 0 is nobody.
    pub caller_id: u32,
    /// Its number.
    pub message_id: u32,
    /// The context that has it.
    pub context_id: ContextId,
}

impl Call for GetMessage {
    const NAME: &'static str = "get_message";
    type Output = Message;
}

/// Lists received messages that were not fetched, or messages to be sent, in the order in which they are taken; or
/// messages of one status. A page may have fewer messages than `limit`, or none, although more follow: only the last
/// page has no `next_cursor`.
#[derive(Default, Serialize)]
pub struct ListMessages<'a> {
    /// The list to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<MessageList>,
    /// The `next_cursor` of the previous page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The maximum number of messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only messages of this caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_id: Option<u32>,
    /// The context that has them.
    pub context_id: ContextId,
    /// Only messages of this status, received and sent, latest to reach it first: the last 10,000. `list` is ignored
    /// then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<MessageStatus>,
}

impl Call for ListMessages<'_> {
    const NAME: &'static str = "list_messages";
    type Output = MessagePage;
}

/// Acknowledges a received message for its owner: it is no longer listed. Returns the message. The other side
/// acknowledges messages that are sent.
#[derive(Serialize)]
pub struct AcknowledgeMessage {
    /// The sender; 0 is nobody.
    pub caller_id: u32,
    /// Its number.
    pub message_id: u32,
    /// The context that has it.
    pub context_id: ContextId,
}

impl Call for AcknowledgeMessage {
    const NAME: &'static str = "acknowledge_message";
    type Output = Message;
}

/// Deletes a message whose result nobody awaits. Returns true.
#[derive(Serialize)]
pub struct DeleteMessage {
    /// The sender; 0 is nobody.
    pub caller_id: u32,
    /// Its number.
    pub message_id: u32,
    /// The context that has it.
    pub context_id: ContextId,
}

impl Call for DeleteMessage {
    const NAME: &'static str = "delete_message";
    type Output = bool;
}
