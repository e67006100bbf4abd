use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, RunnerId};

/// Deletes a runner. Its jobs stay in their queue, and its number is never reused. Returns true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteRunner {
    /// The runner to delete.
    runner_id: RunnerId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteRunner {
    const NAME: &'static str = "delete_runner";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Administer;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = ERRORS;
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        vec![Example { name: "delete", params: Self { runner_id: sample::runner().runner_id, context_id: ContextId(0) }, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(object("runner", self.runner_id))
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.runners.delete(self.context_id, self.runner_id).await?;
        Ok(true)
    }
}
