//! The server itself.

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{sample, tag};
use crate::app::{App, PoolDetails, ServerDetails, ServerInfo as Info};
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::limits::Limits;
use crate::method::{Example, Method};
use hero_jobs::dispatch::StoreInfo;
use hero_model::{ContextId, Name, ScriptType, Seconds};

/// Tells what this server is, what it serves, how its store is and which limits hold.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerInfo {}

impl Method for ServerInfo {
    const NAME: &'static str = "server_info";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Identity;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const RESULT: &'static str = "What the server is and allows.";
    type Output = Info;

    fn examples() -> Vec<Example<Self, Info>> {
        let details = ServerDetails {
            server_id: "host-1:4711:9f86d081884c7d65".into(),
            started_at: sample::time(0),
            started: Instant::now(),
            listen: vec!["127.0.0.1:8700".into()],
            contexts: vec![ContextId(0)],
            node_key: Some(sample::node_key()),
            pools: vec![PoolDetails { script_type: ScriptType::osis(), group: Name::default_group(), context_id: ContextId(0), actors: 2 }],
            limits: Limits::default(),
        };
        let store = StoreInfo { version: "7.0.15".into(), used_memory: 1_048_576, max_memory: 0, evicted_keys: 0, warnings: Vec::new() };
        let mut info = details.info(Some(store));
        info.uptime = std::time::Duration::from_secs(60).into();
        vec![Example { name: "info", params: Self {}, result: info }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, _: &Session) -> Result<Info, Error> {
        let store = app.dispatcher.store_info().await.inspect_err(|error| tracing::warn!(%error, "the store tells nothing of itself")).ok();
        Ok(app.details.info(store))
    }
}

/// Answers `pong`. Keeps a connection alive where WebSocket pings cannot be sent, and measures the way.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {}

impl Method for Ping {
    const NAME: &'static str = "ping";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Public;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[];
    const RESULT: &'static str = "`pong`.";
    type Output = String;

    fn examples() -> Vec<Example<Self, String>> {
        vec![Example { name: "ping", params: Self {}, result: "pong".into() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, _: &App, _: &Session) -> Result<String, Error> {
        Ok("pong".into())
    }
}

/// Has this server take no jobs any more and end when those that run here have ended, for a restart that disturbs nobody. `/readyz` says 503 from now on. What
/// is created meanwhile waits for other servers, or for this one to come back; calls are answered until the end.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainServer {
    /// After how many seconds it ends at the latest; a further call can only shorten that. Scripts that run then get the grace period, and what has not ended in it runs again elsewhere.
    #[serde(default = "DrainServer::timeout")]
    timeout: Seconds,
}

impl DrainServer {
    fn timeout() -> Seconds {
        Duration::from_secs(60 * 60).into()
    }
}

/// A server that drains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Draining {
    /// How many jobs run there.
    pub running: u32,
}

impl Method for DrainServer {
    const NAME: &'static str = "drain_server";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Operate;
    const ERRORS: &'static [Code] = &[];
    const RESULT: &'static str = "How far the server has come.";
    type Output = Draining;

    fn examples() -> Vec<Example<Self, Draining>> {
        vec![Example { name: "drain", params: Self { timeout: Self::timeout() }, result: Draining { running: 0 } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, _: &Session) -> Result<Draining, Error> {
        let running = (app.drain)(self.timeout.duration());
        Ok(Draining { running: u32::try_from(running).unwrap_or(u32::MAX) })
    }
}
