use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::{App, PoolDetails, ServerDetails, ServerInfo as Info};
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::limits::Limits;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_jobs::dispatch::StoreInfo;
use hero_model::{ContextId, Name, ScriptType};

/// Describes this server, its contexts and pools, the state of its store, and its limits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ServerInfo {}

impl Method for ServerInfo {
    const NAME: &'static str = "server_info";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Identity;
    const EFFECT: Effect = Effect::Reads;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const RESULT: &'static str = "The server, its store and its limits.";
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
        let store = app
            .dispatcher
            .contexts()
            .store_info()
            .await
            .inspect_err(|error| tracing::warn!(%error, "the store tells nothing of itself"))
            .ok();
        Ok(app.details.info(store))
    }
}
