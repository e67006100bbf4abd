use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;

/// Answers `pong`. This keeps a connection alive where WebSocket pings cannot be sent, and measures the round trip.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {}

impl Method for Ping {
    const NAME: &'static str = "ping";
    const TAG: &'static str = tag::OPERATION;
    const PERMISSION: Permission = Permission::Public;
    const EFFECT: Effect = Effect::Reads;
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
