// Made of openrpc.json by `make clients`. Change clients/generate/rust.py instead.

use serde::Serialize;

use super::Call;
use hero_model::api::{Draining, ScriptCheck};
use hero_model::{Actor, ContextId, Json, Name, QueueInfo, ScriptType, Seconds};

/// Lists the live actors, with what each may do and how it is confined. Actors of other programs that say that they
/// live are among them. Behind them come the script types of which this server was to offer actors and cannot, each
/// with why (`unavailable`).
#[derive(Default, Serialize)]
pub struct ListActors {
    /// The context they work for.
    pub context_id: ContextId,
}

impl Call for ListActors {
    const NAME: &'static str = "list_actors";
    type Output = Vec<Actor>;
}

/// Lists the functions that scripts have besides those of their language, with what each takes and gives, and an
/// example.
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

/// Compiles a script without running it, and says what is wrong with it, and where, unknown functions included. It is
/// compiled in a confined process, as the scripts of jobs are. Nothing is found in scripts that are not Rhai or
/// HeroScript, or for whose type this server has no pool, and where compiling takes longer than 5 s.
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

/// Lists the work queues, with how many jobs wait in each and how many actors take from it.
#[derive(Default, Serialize)]
pub struct ListQueues {
    /// The context they belong to.
    pub context_id: ContextId,
}

impl Call for ListQueues {
    const NAME: &'static str = "list_queues";
    type Output = Vec<QueueInfo>;
}

/// Has nothing taken from one queue, in any priority, until it is resumed. Gives true. Running jobs go on, and new ones
/// wait. The queue of a type is not that of its groups and instances: each is paused by itself.
#[derive(Serialize)]
pub struct PauseQueue<'a> {
    /// The script type of the queue.
    pub script_type: &'a ScriptType,
    /// The group of the queue; without it, and without an instance, it is the queue of the whole type.
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

/// Has a paused queue served again, at once. Gives true, also if it was not paused; a type that nobody knows is
/// refused.
#[derive(Serialize)]
pub struct ResumeQueue<'a> {
    /// The script type of the queue.
    pub script_type: &'a ScriptType,
    /// The group of the queue; without it, and without an instance, it is the queue of the whole type.
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

/// Tells what this server is, what it serves, how its store is and which limits hold.
#[derive(Default, Serialize)]
pub struct ServerInfo {}

impl Call for ServerInfo {
    const NAME: &'static str = "server_info";
    type Output = Json;
}

/// Answers `pong`. Keeps a connection alive where WebSocket pings cannot be sent, and measures the way.
#[derive(Default, Serialize)]
pub struct Ping {}

impl Call for Ping {
    const NAME: &'static str = "ping";
    type Output = String;
}

/// Has this server take no jobs any more and end when those that run here have ended, for a restart that disturbs
/// nobody. `/readyz` says 503 from now on. What is created meanwhile waits for other servers, or for this one to come
/// back; calls are answered until the end.
#[derive(Default, Serialize)]
pub struct DrainServer {
    /// After how many seconds it ends at the latest; a further call can only shorten that. Scripts that run then get
    /// the grace period, and what has not ended in it runs again elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Seconds>,
}

impl Call for DrainServer {
    const NAME: &'static str = "drain_server";
    type Output = Draining;
}
