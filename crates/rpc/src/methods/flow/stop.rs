use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, FlowId, FlowStatus};

/// Stops all jobs of a flow that have not ended. Returns the status of the flow. Its running scripts may not have ended
/// yet.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopFlow {
    /// The flow to stop.
    flow_id: FlowId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for StopFlow {
    const NAME: &'static str = "stop_flow";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Run;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::State, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The status of the flow after the call.";
    type Output = FlowStatus;

    fn examples() -> Vec<Example<Self, FlowStatus>> {
        vec![Example { name: "stop", params: Self { flow_id: FlowId(2), context_id: ContextId(0) }, result: FlowStatus::Error }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Flow(self.context_id, self.flow_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<FlowStatus, Error> {
        Ok(app.flows().stop(self.context_id, self.flow_id).await?)
    }
}
