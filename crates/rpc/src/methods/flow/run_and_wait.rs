use schemars::JsonSchema;
use serde::Serialize;
use tokio::time::Instant;

use super::signed;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method, Within};
use crate::methods::{Wait, sample, tag};
use crate::params::{FromParameters, GivenParams, ParamsError};
use crate::session::act::{Act, object};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{Flow, FlowSpec};

/// Creates a flow, starts it, waits for its end and returns everything that is known about it.
///
/// A flow that ends in error is a JSON-RPC error, which names the failed jobs. When the wait runs out, the flow
/// continues; `get_flow` and `subscribe_flow` show its progress.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunFlowAndWait {
    #[serde(flatten)]
    spec: FlowSpec,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(default)]
    wait_timeout: Wait,
}

/// This is written by hand, because serde's `flatten` copies everything and cannot tell which fields are unknown.
impl FromParameters for RunFlowAndWait {
    fn read(mut given: GivenParams<'_>) -> Result<Self, ParamsError> {
        let wait_timeout = given.take("wait_timeout")?.unwrap_or_default();
        Ok(Self { spec: given.rest()?, wait_timeout })
    }
}

impl Method for RunFlowAndWait {
    const NAME: &'static str = "run_flow_and_wait";
    const LEADING: &'static [&'static str] = &["jobs", "wait_timeout"];
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::RunsWithKey;
    const ERRORS: &'static [Code] = &[
        Code::State,
        Code::UnknownScriptType,
        Code::QueueFull,
        Code::TooLarge,
        Code::StoreUnavailable,
        Code::IdempotencyReused,
        Code::NotFound,
        Code::JobFailed,
        Code::WaitRanOut,
        Code::JobStopped,
    ];
    const WAITS: bool = true;
    const RESULT: &'static str = "The flow as it ended.";
    type Output = Flow;

    fn examples() -> Vec<Example<Self, Flow>> {
        let params = Self { spec: sample::flow_spec(), wait_timeout: Wait::default() };
        vec![Example { name: "two jobs", params, result: sample::flow(3) }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewFlow(&self.spec)
    }

    async fn call(self, app: &App, session: &Session) -> Result<Flow, Error> {
        Ok(app.flows().run_and_wait(signed(self.spec, session), self.wait_timeout.duration()).await?)
    }

    async fn call_within(self, app: &App, session: &Session, within: Within<'_>) -> Result<Flow, Error> {
        let (context, deadline) = (self.spec.context_id, Instant::now() + self.wait_timeout.duration());
        let (flow, _) = Box::pin(app.flows().run(signed(self.spec, session))).await?;
        // The audited work ends before the wait.
        within.act.done(Some(object("flow", flow)));
        Ok(app.flows().wait(context, flow, deadline.saturating_duration_since(Instant::now())).await?)
    }

    async fn notify(self, app: &App, session: &Session, act: &mut Act) -> Result<(), Error> {
        let (flow, _) = Box::pin(app.flows().run(signed(self.spec, session))).await?;
        act.done(Some(object("flow", flow)));
        Ok(())
    }
}
