use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{Wait, sample, tag};
use crate::session::act::Act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Flow, FlowId};

/// Waits for the end of a flow and returns everything that is known about it. A flow that ends in error is a JSON-RPC
/// error.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitFlow {
    /// The flow to wait for.
    flow_id: FlowId,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(default)]
    wait_timeout: Wait,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for WaitFlow {
    const NAME: &'static str = "wait_flow";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] =
        &[Code::StoreUnavailable, Code::NotFound, Code::JobFailed, Code::WaitRanOut, Code::JobStopped, Code::JobNotFound];
    const WAITS: bool = true;
    const RESULT: &'static str = "The flow as it ended.";
    type Output = Flow;

    fn examples() -> Vec<Example<Self, Flow>> {
        let params = Self { flow_id: FlowId(1), wait_timeout: Wait::default(), context_id: ContextId(0) };
        vec![Example { name: "wait", params, result: sample::flow(1) }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Flow(self.context_id, self.flow_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Flow, Error> {
        Ok(app.flows().wait(self.context_id, self.flow_id, self.wait_timeout.duration()).await?)
    }

    /// Does nothing, because a notification has no caller who waits for the result.
    async fn notify(self, _: &App, _: &Session, _: &mut Act) -> Result<(), Error> {
        Ok(())
    }
}
