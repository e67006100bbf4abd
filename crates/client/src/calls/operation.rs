// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::api::{Draining, ScriptCheck};
use hero_model::{Actor, ContextId, Json, Name, QueueInfo, ScriptType, Seconds};

/// Lists the live actors, with their capabilities and their confinement. The list includes actors of other programs
/// that send heartbeats. After them come the script types for which this server should have actors and cannot, each
/// with the reason (`unavailable`).
#[derive(Default, Serialize)]
pub struct ListActors {
    /// The context they work for.
    pub context_id: ContextId,
}

impl Call for ListActors {
    const NAME: &'static str = "list_actors";
    type Output = Vec<Actor>;
}

/// Lists the functions that scripts have besides those of their language, with parameters, result and an example.
#[derive(Default, Serialize)]
pub struct ListFunctions<'a> {
    /// Only the functions of scripts of this type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_type: Option<&'a ScriptType>,
}

impl Call for ListFunctions<'_> {
    const NAME: &'static str = "list_functions";
    type Output = Vec<Json>;
}

/// Compiles a script without running it, and reports an error with its location. Unknown functions are errors, too. A
/// confined process compiles it, as for jobs. No error is found if the script is neither Rhai nor HeroScript, if this
/// server has no pool for its type, or if compiling takes longer than 5 s.
#[derive(Serialize)]
pub struct CheckScript<'a> {
    /// The source code.
    pub script: &'a str,
    /// The script type that it is written for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script_type: Option<&'a ScriptType>,
    /// The context in which it is to run.
    pub context_id: ContextId,
}

impl Call for CheckScript<'_> {
    const NAME: &'static str = "check_script";
    type Output = ScriptCheck;
}

/// Lists the work queues, each with its number of waiting jobs and of actors.
#[derive(Default, Serialize)]
pub struct ListQueues {
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListQueues {
    const NAME: &'static str = "list_queues";
    type Output = Vec<QueueInfo>;
}

/// Pauses a queue, in all priorities, until it is resumed. Returns true. Running jobs continue, and new ones wait. The
/// queue of a type is not that of its groups and instances: each is paused by itself.
#[derive(Serialize)]
pub struct PauseQueue<'a> {
    /// The script type of the queue.
    pub script_type: &'a ScriptType,
    /// The group of the queue. Without a group and an instance, it is the queue of the whole type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a Name>,
    /// The instance of the queue, in the group `default` if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<u32>,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for PauseQueue<'_> {
    const NAME: &'static str = "pause_queue";
    type Output = bool;
}

/// Resumes a paused queue at once. Returns true, even if the queue was not paused. An unknown type is refused.
#[derive(Serialize)]
pub struct ResumeQueue<'a> {
    /// The script type of the queue.
    pub script_type: &'a ScriptType,
    /// The group of the queue. Without a group and an instance, it is the queue of the whole type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<&'a Name>,
    /// The instance of the queue, in the group `default` if none is named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance: Option<u32>,
    /// The context it belongs to.
    pub context_id: ContextId,
}

impl Call for ResumeQueue<'_> {
    const NAME: &'static str = "resume_queue";
    type Output = bool;
}

/// Describes this server, its contexts and pools, the state of its store, and its limits.
#[derive(Default, Serialize)]
pub struct ServerInfo {}

impl Call for ServerInfo {
    const NAME: &'static str = "server_info";
    type Output = Json;
}

/// Answers `pong`. This keeps a connection alive where WebSocket pings cannot be sent, and measures the round trip.
#[derive(Default, Serialize)]
pub struct Ping {}

impl Call for Ping {
    const NAME: &'static str = "ping";
    type Output = String;
}

/// Stops taking jobs, and ends this server when the running ones have ended, for a restart that disturbs nobody. From
/// then on `/readyz` answers 503. New jobs wait for other servers, or for this one to come back. Calls are answered
/// until the end.
#[derive(Default, Serialize)]
pub struct DrainServer {
    /// The seconds after which the server ends at the latest; a further call can only shorten this time. Scripts that
    /// run then get the grace period, and jobs that do not end in it run again elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
}

impl Call for DrainServer {
    const NAME: &'static str = "drain_server";
    type Output = Draining;
}
