use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Principal, Session};
use crate::session::guard::Concern;
use hero_access::ContextSpec;
use hero_model::{Context, ContextId, ContextLimits};

/// Changes a context. Fields that are not given stay as they are. Limits are the operator's to set; 0 takes one away.
///
/// It holds at once on this server, and within a second on others. Roles are changed by `grant` and `revoke`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateContext {
    /// The context to change.
    #[serde(default)]
    context_id: ContextId,
    /// Its purpose.
    name: Option<String>,
    /// Its limits.
    limits: Option<ContextLimits>,
}

impl Method for UpdateContext {
    const NAME: &'static str = "update_context";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Administer;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The changed context.";
    type Output = Context;

    fn examples() -> Vec<Example<Self, Context>> {
        let result = sample::context();
        let params = Self { context_id: result.context_id, name: result.name.clone(), limits: None };
        vec![Example { name: "rename", params, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, session: &Session) -> Result<Context, Error> {
        if self.limits.is_some() && matches!(session.principal(), Principal::Identity(_)) {
            return Err(Error::Denied("the limits of a context are set by the operator, through the socket in the data directory".into()));
        }
        let spec = ContextSpec { name: self.name, limits: self.limits.unwrap_or_default(), admins: BTreeSet::new() };
        Ok(app.authority.update_context(self.context_id, spec).await?)
    }
}
