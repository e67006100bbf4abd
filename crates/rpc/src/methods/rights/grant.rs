use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{Context, ContextId, IdentityId, Role};

/// Gives an identity a role in a context. Returns the context with its roles.
///
/// The change applies at once on this server, and within half a second on others.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The identity that gets the role.
    identity_id: IdentityId,
    /// The role.
    role: Role,
    /// The context.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for Grant {
    const NAME: &'static str = "grant";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Administer;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The changed context.";
    type Output = Context;

    fn examples() -> Vec<Example<Self, Context>> {
        let identity_id = sample::identity().identity_id;
        vec![Example {
            name: "grant",
            params: Self { identity_id, role: Role::Caller, context_id: ContextId(0) },
            result: sample::rights(),
        }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(format!("{} {}", object("identity", self.identity_id), object("role", self.role.as_str())))
    }

    async fn call(self, app: &App, _: &Session) -> Result<Context, Error> {
        Ok(app.authority.set_role(self.context_id, self.identity_id, self.role, true).await?)
    }
}
