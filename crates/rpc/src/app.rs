use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NAME;
use super::limits::Limits;
use hero_access::Authority;
use hero_coordinator::flows::Flows;
use hero_coordinator::{Messages, Runners};
use hero_jobs::dispatch::{Dispatcher, StoreInfo};
use hero_model::{ContextId, Name, ScriptType, Seconds, SignerKey, Timestamp};

/// The parts of the server that the methods use.
#[derive(Clone)]
pub struct App {
    /// Creates, starts, stops and reads jobs.
    pub dispatcher: Dispatcher,
    /// Identities, tokens and rights.
    pub authority: Authority,
    /// Knows which runner, here or elsewhere, runs the jobs of a group.
    pub runners: Runners,
    /// Messages between contexts and nodes.
    pub messages: Messages,
    /// The sources of `/readyz` and `/metrics`.
    pub probes: Probes,
    /// The constant part of `server_info`.
    pub details: Arc<ServerDetails>,
    /// The action of `drain_server`.
    pub drain: Drain,
}

/// Makes the server take no more jobs, and end when its running jobs have ended, or after this time at the latest. Returns the number of
/// running jobs.
pub type Drain = Arc<dyn Fn(Duration) -> usize + Send + Sync>;

impl App {
    /// Returns the flows of these jobs.
    pub fn flows(&self) -> Flows {
        Flows::new(self.dispatcher.clone())
    }
}

/// `Ok` if the server is ready, with notes for its user; otherwise the reasons why it is not.
pub type Readiness = Result<Vec<String>, Vec<String>>;

/// The sources of the plain HTTP routes.
#[derive(Clone)]
pub struct Probes {
    /// Checks whether everything that jobs need is there. Called for each `GET /readyz`, within five seconds.
    pub readiness: Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Readiness> + Send>> + Send + Sync>,
    /// The metrics in Prometheus' text format. Called for each `GET /metrics`.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
}

/// The facts that the process knows at its start.
#[derive(Debug, Clone)]
pub struct ServerDetails {
    /// The name of this run of the server, as in leases.
    pub server_id: String,
    /// When it started.
    pub started_at: Timestamp,
    /// When it started, on the monotonic clock.
    pub started: Instant,
    /// Addresses it listens on besides the one [`super::serve`] binds.
    pub listen: Vec<String>,
    /// The contexts it serves.
    pub contexts: Vec<ContextId>,
    /// The key of this node, if it has one.
    pub node_key: Option<SignerKey>,
    /// The pools of actors that it runs.
    pub pools: Vec<PoolDetails>,
    /// The limits of the wire.
    pub limits: Limits,
}

/// A pool of actors in this process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolDetails {
    /// The script type its actors run.
    pub script_type: ScriptType,
    /// Their group.
    pub group: Name,
    /// The context whose jobs they run.
    #[serde(default)]
    pub context_id: ContextId,
    /// Their number.
    pub actors: u32,
}

/// The server that answers.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ServerDetails")] // Generators also create a type with the name of `server_info`.
pub struct ServerInfo {
    /// Always `hero`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The name of this run of the server, as in leases.
    pub server_id: String,
    /// When it started.
    pub started_at: Timestamp,
    /// How long it has been running.
    pub uptime: Seconds,
    /// The addresses it listens on.
    pub listen: Vec<String>,
    /// The contexts it serves.
    pub contexts: Vec<ContextId>,
    /// The pools of actors that it runs.
    pub pools: Vec<PoolDetails>,
    /// The key by which other nodes know this one.
    pub node_key: Option<SignerKey>,
    /// How the store is; absent when it does not answer.
    pub store: Option<StoreInfo>,
    /// The limits of the wire.
    pub limits: Limits,
}

impl ServerDetails {
    /// Returns the current description of the server.
    pub fn info(&self, store: Option<StoreInfo>) -> ServerInfo {
        ServerInfo {
            name: NAME.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            server_id: self.server_id.clone(),
            started_at: self.started_at,
            uptime: Seconds::from(self.started.elapsed()),
            listen: self.listen.clone(),
            contexts: self.contexts.clone(),
            pools: self.pools.clone(),
            node_key: self.node_key.clone(),
            store,
            limits: self.limits.clone(),
        }
    }
}
