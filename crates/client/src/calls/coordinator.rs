// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::{
    Address, ContextId, Draft, Message, MessageList, MessagePage, MessageStatus, Pong, Runner, RunnerChange, RunnerId, RunnerPage,
};

/// Makes a runner: it runs the jobs of its script type whose `group` is `runner{runner_id}`. A local one is a pool of
/// the context; the jobs of another one are sent as messages to its address.
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

/// Changes a runner: what is given takes the place of what was there.
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

/// Gives a runner.
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

/// Lists runners in the order of their numbers.
#[derive(Default, Serialize)]
pub struct ListRunners<'a> {
    /// The `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most runners to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListRunners<'_> {
    const NAME: &'static str = "list_runners";
    type Output = RunnerPage;
}

/// Deletes a runner. Its jobs stay in their queue, and its number is never given again. Gives true.
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

/// Sends a message: it is stored and brought to the other side in the background, and its status says what became of
/// it. Jobs of a message run at the other side, and for each a message of type `result` comes back.
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

/// Asks who is at an address: the way there, the key of the node that answers, its clock, and how long the answer took.
/// Nothing is stored of it, and where nobody answers `error` says why.
#[derive(Serialize)]
pub struct PingNode<'a> {
    /// Who is asked: `here`, `node:NAME`, `redis://…`, or a node of Mycelium.
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

/// Gives a message.
#[derive(Serialize)]
pub struct GetMessage {
    /// Who sent it; 0 is nobody.
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

/// Lists messages that came and were not fetched, or that are to go out, those that are taken first first; or those of
/// a status. A page can have fewer messages than asked for, or none, and still not be the last: that one has no
/// `next_cursor`.
#[derive(Default, Serialize)]
pub struct ListMessages<'a> {
    /// Which list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<MessageList>,
    /// The `next_cursor` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<&'a str>,
    /// The most messages to give.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Only messages of this caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller_id: Option<u32>,
    /// The context that has them.
    pub context_id: ContextId,
    /// Only messages of this status, whichever way they go, the one that got it last first: the last 10,000. `list`
    /// does not count then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<MessageStatus>,
}

impl Call for ListMessages<'_> {
    const NAME: &'static str = "list_messages";
    type Output = MessagePage;
}

/// Notes that the owner of a message that came has it: it is not listed any more. Gives the message. One that is to go
/// out the other side acknowledges.
#[derive(Serialize)]
pub struct AcknowledgeMessage {
    /// Who sent it; 0 is nobody.
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

/// Deletes a message whose result nobody awaits. Gives true.
#[derive(Serialize)]
pub struct DeleteMessage {
    /// Who sent it; 0 is nobody.
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
