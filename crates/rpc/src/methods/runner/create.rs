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
use hero_model::{Address, ContextId, Name, Runner, RunnerChange, ScriptType, SignerKey};

const fn yes() -> bool {
    true
}

/// Creates a runner, which runs the jobs of its script type whose `group` is `runner{runner_id}`.
///
/// A local runner is a pool of the context. The jobs of any other runner are sent as messages to its address.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateRunner {
    /// The script type of its jobs.
    script_type: ScriptType,
    /// Whether it is a pool of this context.
    #[serde(default = "yes")]
    local: bool,
    /// Its address, if it is not local.
    address: Option<Address>,
    /// The key that signs the results of its jobs: that of the node that runs them.
    pubkey: Option<SignerKey>,
    /// The context at the other side in which its jobs run.
    #[serde(default)]
    target_context: ContextId,
    /// Its purpose; at most 256 bytes.
    name: Option<String>,
    /// Its topic; `runner{runner_id}` by default.
    topic: Option<Name>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for CreateRunner {
    const NAME: &'static str = "create_runner";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Administer;
    const EFFECT: Effect = Effect::Adds;
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
