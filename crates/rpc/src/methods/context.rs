//! Contexts: tenants, each with jobs, objects and files of its own.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PageSize, sample, tag};
use crate::act::object;
use crate::app::App;
use crate::auth::{Permission, Principal, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_access::ContextSpec;
use hero_model::{Context, ContextId, ContextLimits, ContextPage, IdentityId};

/// What looking at contexts, and changing them, can answer.
const ERRORS: &[Code] = &[Code::State, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];

/// Makes a context: a tenant with a database, jobs, objects and files of its own. It takes calls at once, and those of other servers within a second.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateContext {
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    name: Option<String>,
    /// Who may do everything in it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    admins: BTreeSet<IdentityId>,
    /// What may be used in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ContextLimits")]
    limits: Option<ContextLimits>,
}

impl Method for CreateContext {
    const NAME: &'static str = "create_context";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Operate;
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

/// Changes a context. What is not given stays. Limits are the operator's to set; 0 takes one away.
///
/// It holds at once on this server, and within a second on others. Roles are changed by `grant` and `revoke`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateContext {
    /// The context to change.
    #[serde(default)]
    context_id: ContextId,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    name: Option<String>,
    /// What may be used in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ContextLimits")]
    limits: Option<ContextLimits>,
}

impl Method for UpdateContext {
    const NAME: &'static str = "update_context";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Administer;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The context as it is now.";
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

/// Gives a context: who may do what in it, and what may be used there.
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

/// Lists contexts in the order of their numbers: those in which the caller has a role, or all for the operator.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListContexts {
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The most contexts to give.
    #[serde(default)]
    limit: PageSize,
}

impl Method for ListContexts {
    const NAME: &'static str = "list_contexts";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Identity;
    const AUDITED: bool = false;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The contexts.";
    type Output = ContextPage;

    fn examples() -> Vec<Example<Self, ContextPage>> {
        let params = Self { cursor: None, limit: PageSize::default() };
        vec![Example { name: "contexts", params, result: ContextPage { contexts: vec![sample::context()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Server
    }

    async fn call(self, app: &App, session: &Session) -> Result<ContextPage, Error> {
        let identity = match session.principal() {
            Principal::Identity(login) => Some(login.identity()),
            Principal::Operator | Principal::Anonymous => None,
        };
        Ok(app.authority.context_page(identity, self.cursor.as_deref(), self.limit.get())?)
    }
}

/// Deletes a context with everything in it, for good. Its number is never given again. Gives true: it takes no calls from then on, and what it holds goes
/// in the background.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteContext {
    /// The context to delete.
    context_id: ContextId,
    /// Whether jobs that have not ended are stopped, and messages that wait to be sent or for their result are lost. Otherwise a context that has some is not
    /// deleted.
    #[serde(default)]
    stop_jobs: bool,
}

impl Method for DeleteContext {
    const NAME: &'static str = "delete_context";
    const TAG: &'static str = tag::ACCESS;
    const PERMISSION: Permission = Permission::Administer;
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
        app.dispatcher.refuse(self.context_id);
        Ok(true)
    }
}
