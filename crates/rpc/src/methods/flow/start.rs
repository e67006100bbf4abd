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

/// Starts a created flow. Returns its status.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartFlow {
    /// The flow to start.
    flow_id: FlowId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for StartFlow {
    const NAME: &'static str = "start_flow";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Run;
    const EFFECT: Effect = Effect::Runs;
    const ERRORS: &'static [Code] = &[Code::State, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The status of the flow after the call.";
    type Output = FlowStatus;

    fn examples() -> Vec<Example<Self, FlowStatus>> {
        vec![Example { name: "start", params: Self { flow_id: FlowId(1), context_id: ContextId(0) }, result: FlowStatus::Dispatched }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Flow(self.context_id, self.flow_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<FlowStatus, Error> {
        Ok(app.flows().start(self.context_id, self.flow_id).await?)
    }
}
