use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{CREATE_ERRORS, signed};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{FlowId, FlowSpec};

/// Creates a flow: named jobs, which wait for each other by `depends_on`. Returns its number.
///
/// Nothing runs before `start_flow`. The call creates the whole flow, or nothing. A script reads the results of the
/// jobs that it depends on as `inputs.NAME`. With an `idempotency_key`, a call whose answer was lost can be repeated,
/// and returns the same flow.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateFlow {
    #[serde(flatten)]
    spec: FlowSpec,
}

impl<'de> Deserialize<'de> for CreateFlow {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FlowSpec::deserialize(deserializer).map(|spec| Self { spec })
    }
}

impl Method for CreateFlow {
    const NAME: &'static str = "create_flow";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::AddsWithKey;
    const ERRORS: &'static [Code] = CREATE_ERRORS;
    const RESULT: &'static str = "The number of the flow.";
    type Output = FlowId;

    fn examples() -> Vec<Example<Self, FlowId>> {
        let made = |name, flow| Example { name, params: Self { spec: sample::flow_spec() }, result: FlowId(flow) };
        vec![made("two jobs", 1), made("again", 2)]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewFlow(&self.spec)
    }

    fn made(id: &Self::Output) -> Option<String> {
        Some(object("flow", id))
    }

    async fn call(self, app: &App, session: &Session) -> Result<FlowId, Error> {
        Ok(app.flows().create(signed(self.spec, session)).await?)
    }
}
