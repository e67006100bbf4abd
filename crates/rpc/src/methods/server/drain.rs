use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::auth::{Permission, Session};
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::method::{Example, Method};
use crate::methods::tag;
use hero_model::api::Draining;
use hero_model::{JobSpec, Seconds};

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

impl Method for DrainServer {
    const NAME: &'static str = "drain_server";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Operate;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[];
    const RESULT: &'static str = "How far the server has come.";
    type Output = Draining;

    fn examples() -> Vec<Example<Self, Draining>> {
        vec![Example { name: "drain", params: Self { timeout: Self::timeout() }, result: Draining { running: 0 } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<Draining, Error> {
        let caller = session.caller_id();
        tracing::info!(
            caller = caller.as_deref().unwrap_or(JobSpec::ANONYMOUS),
            peer = %session.peer(),
            timeout = ?self.timeout.duration(),
            "a caller asks this server to drain"
        );
        let running = (app.drain)(self.timeout.duration());
        Ok(Draining { running: u32::try_from(running).unwrap_or(u32::MAX) })
    }
}
