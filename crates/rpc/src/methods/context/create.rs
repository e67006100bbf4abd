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
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_access::ContextSpec;
use hero_model::{Context, ContextId, ContextLimits, IdentityId};

/// Creates a context: a tenant with its own database, jobs, objects and files. This server accepts calls for it at
/// once, other servers within a second.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateContext {
    /// Its purpose.
    name: Option<String>,
    /// The identities that may do everything in it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    admins: BTreeSet<IdentityId>,
    /// Its limits.
    limits: Option<ContextLimits>,
}

impl Method for CreateContext {
    const NAME: &'static str = "create_context";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Operate;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The context.";
    type Output = Context;

    fn examples() -> Vec<Example<Self, Context>> {
        let result = sample::context();
        let another = Context { context_id: ContextId(2), name: None, limits: ContextLimits::default(), ..result.clone() };
        let params = Self { name: result.name.clone(), admins: BTreeSet::new(), limits: Some(result.limits) };
        let plain = Self { name: None, admins: BTreeSet::new(), limits: None };
        vec![Example { name: "create", params, result }, Example { name: "one without a name", params: plain, result: another }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    fn names(&self) -> Option<String> {
        let admins: Vec<String> = self.admins.iter().map(|admin| object("identity", admin)).collect();
        (!admins.is_empty()).then(|| admins.join(" "))
    }

    fn made(made: &Self::Output) -> Option<String> {
        let admins = made.admins.iter().map(|admin| object("identity", admin));
        Some(std::iter::once(object("context", made.context_id)).chain(admins).collect::<Vec<_>>().join(" "))
    }

    async fn call(self, app: &App, _: &Session) -> Result<Context, Error> {
        let spec = ContextSpec { name: self.name, limits: self.limits.unwrap_or_default(), admins: self.admins };
        Ok(app.authority.create_context(spec).await?)
    }
}
