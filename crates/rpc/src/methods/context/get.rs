use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{Context, ContextId};

/// Returns a context with its roles and limits.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetContext {
    /// The context to look at.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetContext {
    const NAME: &'static str = "get_context";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The context.";
    type Output = Context;

    fn examples() -> Vec<Example<Self, Context>> {
        let result = sample::context();
        vec![Example { name: "get", params: Self { context_id: result.context_id }, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Context, Error> {
        Ok(app.authority.read_context(self.context_id).await?)
    }
}
