use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::destination::may_go;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{Address, ContextId, Pong};

/// Pings the node at an address. Returns the route, the key of the node that answers, its clock, and the time that the
/// answer took. Nothing is stored. If nobody answers, `error` says why.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PingNode {
    /// The node to ask: `here`, `node:NAME`, `redis://…`, or a node of Mycelium.
    address: Address,
    /// The context there.
    #[serde(default)]
    target_context: ContextId,
    /// The context that asks.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for PingNode {
    const NAME: &'static str = "ping_node";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The answer of the node.";
    type Output = Pong;

    fn examples() -> Vec<Example<Self, Pong>> {
        let params = Self { address: "here".parse().expect("an address"), target_context: ContextId(0), context_id: ContextId(0) };
        vec![Example { name: "here", params, result: sample::pong() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(format!("{} target:{}", object("address", &self.address), self.target_context))
    }

    async fn call(self, app: &App, session: &Session) -> Result<Pong, Error> {
        may_go(app, session, &self.address, self.target_context)?;
        Ok(app.messages.ping(self.context_id, &self.address, self.target_context).await?)
    }
}
