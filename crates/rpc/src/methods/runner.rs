//! Runners: who runs the jobs of a group, here or elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PageSize, sample, tag};
use crate::act::object;
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::destination::may_go;
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method};
use hero_model::{Address, ContextId, Name, Runner, RunnerChange, RunnerId, RunnerPage, ScriptType, SignerKey};

/// What making or changing a runner can answer.
const CHANGE_ERRORS: &[Code] = &[Code::UnknownScriptType, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
/// What looking at runners can answer.
const ERRORS: &[Code] = &[Code::StoreUnavailable, Code::NotFound];

const fn yes() -> bool {
    true
}

/// Makes a runner: it runs the jobs of its script type whose `group` is `runner{runner_id}`.
///
/// A local one is a pool of the context; the jobs of another one are sent as messages to its address.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRunner {
    /// The script type of its jobs.
    script_type: ScriptType,
    /// Whether it is a pool of this context.
    #[serde(default = "yes")]
    local: bool,
    /// Where it is, if it is not local.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Address")]
    address: Option<Address>,
    /// The key with which results of its jobs are signed: that of the node that runs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SignerKey")]
    pubkey: Option<SignerKey>,
    /// The context at the other side in which its jobs run.
    #[serde(default)]
    target_context: ContextId,
    /// What it is for; 256 bytes at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    name: Option<String>,
    /// What it is called; `runner{runner_id}` if this is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    topic: Option<Name>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for CreateRunner {
    const NAME: &'static str = "create_runner";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Administer;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The runner.";
    type Output = Runner;

    fn examples() -> Vec<Example<Self, Runner>> {
        let Runner { script_type, local, address, pubkey, target_context, name, .. } = sample::runner();
        let params = Self { script_type, local, address, pubkey, topic: None, target_context, name, context_id: ContextId(0) };
        vec![Example { name: "in another context of the server", params, result: sample::runner() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn made(runner: &Self::Output) -> Option<String> {
        Some(object("runner", runner.runner_id))
    }

    async fn call(self, app: &App, session: &Session) -> Result<Runner, Error> {
        if let Some(address) = &self.address {
            may_go(app, session, address, self.target_context)?;
        }
        let change = RunnerChange {
            script_type: Some(self.script_type),
            local: Some(self.local),
            topic: self.topic,
            address: self.address,
            pubkey: self.pubkey,
            target_context: Some(self.target_context),
            name: self.name,
        };
        Ok(app.runners.create(self.context_id, &change).await?)
    }
}

/// Changes a runner: what is given takes the place of what was there.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRunner {
    /// The runner to change.
    runner_id: RunnerId,
    /// The script type of its jobs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ScriptType")]
    script_type: Option<ScriptType>,
    /// Whether it is a pool of this context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    local: Option<bool>,
    /// Where it is, if it is not local.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Address")]
    address: Option<Address>,
    /// The key with which results of its jobs are signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SignerKey")]
    pubkey: Option<SignerKey>,
    /// What it is called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Name")]
    topic: Option<Name>,
    /// The context at the other side in which its jobs run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ContextId")]
    target_context: Option<ContextId>,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    name: Option<String>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for UpdateRunner {
    const NAME: &'static str = "update_runner";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Administer;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The runner as it is now.";
    type Output = Runner;

    fn examples() -> Vec<Example<Self, Runner>> {
        let (runner_id, address) = (sample::runner().runner_id, sample::runner().address);
        let nothing = Self {
            runner_id,
            script_type: None,
            local: None,
            address: None,
            pubkey: None,
            topic: None,
            target_context: None,
            name: None,
            context_id: ContextId(0),
        };
        vec![Example { name: "move", params: Self { address, ..nothing }, result: sample::runner() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    fn names(&self) -> Option<String> {
        Some(object("runner", self.runner_id))
    }

    async fn call(self, app: &App, session: &Session) -> Result<Runner, Error> {
        let Self { runner_id, script_type, local, address, pubkey, topic, target_context, name, context_id } = self;
        if address.is_some() || target_context.is_some() {
            let before = app.runners.get(context_id, runner_id).await?;
            if let Some(address) = address.as_ref().or(before.address.as_ref()) {
                may_go(app, session, address, target_context.unwrap_or(before.target_context))?;
            }
        }
        let change = RunnerChange { script_type, local, topic, address, pubkey, target_context, name };
        Ok(app.runners.update(context_id, runner_id, &change).await?)
    }
}

/// Gives a runner.
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

/// Lists runners in the order of their numbers.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRunners {
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The most runners to give.
    #[serde(default)]
    limit: PageSize,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListRunners {
    const NAME: &'static str = "list_runners";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The runners.";
    type Output = RunnerPage;

    fn examples() -> Vec<Example<Self, RunnerPage>> {
        let params = Self { cursor: None, limit: PageSize::default(), context_id: ContextId(0) };
        vec![Example { name: "runners", params, result: RunnerPage { runners: vec![sample::runner()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<RunnerPage, Error> {
        Ok(app.runners.list(self.context_id, self.cursor.as_deref(), self.limit.get()).await?)
    }
}

/// Deletes a runner. Its jobs stay in their queue, and its number is never given again. Gives true.
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
