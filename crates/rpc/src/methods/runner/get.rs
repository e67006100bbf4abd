use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Runner, RunnerId};

/// Returns a runner.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetRunner {
    /// The runner to look at.
    runner_id: RunnerId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetRunner {
    const NAME: &'static str = "get_runner";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = ERRORS;
    const RESULT: &'static str = "The runner.";
    type Output = Runner;

    fn examples() -> Vec<Example<Self, Runner>> {
        let params = Self { runner_id: sample::runner().runner_id, context_id: ContextId(0) };
        vec![Example { name: "get", params, result: sample::runner() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Runner, Error> {
        Ok(app.runners.get(self.context_id, self.runner_id).await?)
    }
}
