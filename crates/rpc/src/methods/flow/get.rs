use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Flow, FlowId};

/// Returns a flow: its status, its jobs with their times, their results, and their graph for Mermaid.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetFlow {
    /// The flow to look at.
    flow_id: FlowId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetFlow {
    const NAME: &'static str = "get_flow";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound, Code::TooLarge];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The flow with its jobs.";
    type Output = Flow;

    fn examples() -> Vec<Example<Self, Flow>> {
        let params = Self { flow_id: FlowId(1), context_id: ContextId(0) };
        vec![Example { name: "flow", params, result: sample::flow(1) }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Flow(self.context_id, self.flow_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Flow, Error> {
        Ok(app.flows().get(self.context_id, self.flow_id).await?)
    }
}
