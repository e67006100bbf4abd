use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::tag;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, FlowId};

/// Deletes a flow that is not running, with its jobs. Returns true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteFlow {
    /// The flow to delete.
    flow_id: FlowId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteFlow {
    const NAME: &'static str = "delete_flow";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::State, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        vec![Example { name: "delete", params: Self { flow_id: FlowId(3), context_id: ContextId(0) }, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Flow(self.context_id, self.flow_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        Ok(app.flows().delete(self.context_id, self.flow_id).await.map(|_| true)?)
    }
}
