use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::ContextId;

/// Deletes a context with everything in it, for good. Its number is never reused. Returns true. From then on the
/// context accepts no calls; its data is deleted in the background.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteContext {
    /// The context to delete.
    context_id: ContextId,
    /// Whether to stop jobs that have not ended, and to lose messages that wait to be sent or for their result.
    /// Otherwise a context with such jobs or messages is not deleted.
    #[serde(default)]
    stop_jobs: bool,
}

impl Method for DeleteContext {
    const NAME: &'static str = "delete_context";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Administer;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = ERRORS;
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        vec![Example { name: "delete", params: Self { context_id: ContextId(2), stop_jobs: true }, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.authority.close_context(self.context_id, self.stop_jobs).await?;
        app.dispatcher.contexts().refuse(self.context_id);
        Ok(true)
    }
}
