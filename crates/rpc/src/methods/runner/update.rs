use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CHANGE_ERRORS;
use crate::app::App;
use crate::destination::may_go;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{Address, ContextId, Name, Runner, RunnerChange, RunnerId, ScriptType, SignerKey};

/// Changes a runner. Each given field replaces its old value.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateRunner {
    /// The runner to change.
    runner_id: RunnerId,
    /// The script type of its jobs.
    script_type: Option<ScriptType>,
    /// Whether it is a pool of this context.
    local: Option<bool>,
    /// Its address, if it is not local.
    address: Option<Address>,
    /// The key that signs the results of its jobs.
    pubkey: Option<SignerKey>,
    /// Its topic.
    topic: Option<Name>,
    /// The context at the other side in which its jobs run.
    target_context: Option<ContextId>,
    /// Its purpose.
    name: Option<String>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for UpdateRunner {
    const NAME: &'static str = "update_runner";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Administer;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The changed runner.";
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
