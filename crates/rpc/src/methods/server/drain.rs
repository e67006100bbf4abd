use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::api::Draining;
use hero_model::{JobSpec, Seconds};

/// Stops taking jobs, and ends this server when the running ones have ended, for a restart that disturbs nobody. From
/// then on `/readyz` answers 503. New jobs wait for other servers, or for this one to come back. Calls are answered
/// until the end.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DrainServer {
    /// The seconds after which the server ends at the latest; a further call can only shorten this time. Scripts that
    /// run then get the grace period, and jobs that do not end in it run again elsewhere.
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
    const RESULT: &'static str = "The progress of the server.";
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
