//! Flows: jobs that belong together, and wait for each other.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use tokio::time::Instant;

use super::{PageSize, Wait, sample, tag};
use crate::act::{Act, object};
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::memory::Size;
use crate::method::{Example, Method, Within};
use crate::params::{Fault, FromParameters, Given};
use hero_model::{ContextId, Flow, FlowId, FlowPage, FlowSpec, FlowStatus};

/// What making a flow can answer.
const CREATE_ERRORS: &[Code] = &[
    Code::State,
    Code::UnknownScriptType,
    Code::QueueFull,
    Code::TooLarge,
    Code::StoreUnavailable,
    Code::IdempotencyReused,
    Code::NotFound,
];

/// `spec` with the session's caller where it names none.
fn signed(spec: FlowSpec, session: &Session) -> FlowSpec {
    FlowSpec { caller_id: spec.caller_id.or_else(|| session.caller_id()), ..spec }
}

/// Makes a flow: jobs by their names, which wait for each other as `depends_on` says. Gives its number.
///
/// Nothing runs before `start_flow`. Either the whole flow is made, or nothing. A script sees what the jobs gave that it depends on as
/// `inputs.NAME`. A call whose answer was lost can be repeated where it had an `idempotency_key`: it gives the same flow.
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

/// Makes a flow, starts it, waits for its end and gives all that is known of it.
///
/// A flow that ends badly is an error, which names the jobs that failed. When the wait runs out the flow goes on, and `get_flow` and `subscribe_flow` show how.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RunFlowAndWait {
    #[serde(flatten)]
    spec: FlowSpec,
    /// How many seconds to wait; 0 looks once.
    #[serde(default)]
    wait_timeout: Wait,
}

/// By hand, because serde's `flatten` copies everything and forgets which fields are unknown.
impl FromParameters for RunFlowAndWait {
    fn read(mut given: Given<'_>) -> Result<Self, Fault> {
        let wait_timeout = given.take("wait_timeout")?.unwrap_or_default();
        Ok(Self { spec: given.rest()?, wait_timeout })
    }
}

impl Method for RunFlowAndWait {
    const NAME: &'static str = "run_flow_and_wait";
    const LEADING: &'static [&'static str] = &["jobs", "wait_timeout"];
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Submit;
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
        // The wait is no part of what is done.
        within.act.done(Some(object("flow", flow)));
        Ok(app.flows().wait(context, flow, deadline.saturating_duration_since(Instant::now())).await?)
    }

    async fn notify(self, app: &App, session: &Session, act: &mut Act) -> Result<(), Error> {
        let (flow, _) = Box::pin(app.flows().run(signed(self.spec, session))).await?;
        act.done(Some(object("flow", flow)));
        Ok(())
    }
}

/// Starts a flow that was made. Gives its status.
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
    const ERRORS: &'static [Code] = &[Code::State, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The status that the flow has then.";
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

/// Waits for the end of a flow and gives all that is known of it. One that ends badly is an error.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitFlow {
    /// The flow to wait for.
    flow_id: FlowId,
    /// How many seconds to wait; 0 looks once.
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

    /// Does nothing, because a notification has nobody who waits for the result.
    async fn notify(self, _: &App, _: &Session, _: &mut Act) -> Result<(), Error> {
        Ok(())
    }
}

/// Gives all that is known of a flow: its status, each of its jobs with its times, what they gave, and the graph of them for Mermaid.
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

/// Lists flows, the newest first.
///
/// A page can have fewer flows than asked for, or none, and still not be the last: that one has no `next_cursor`.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFlows {
    /// The `next_cursor` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    cursor: Option<String>,
    /// The most flows to give.
    #[serde(default)]
    limit: PageSize,
    /// Only flows that this caller created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    caller_id: Option<String>,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListFlows {
    const NAME: &'static str = "list_flows";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound, Code::TooLarge];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The flows, the latest first.";
    type Output = FlowPage;

    fn examples() -> Vec<Example<Self, FlowPage>> {
        let params = Self { cursor: None, limit: PageSize::default(), caller_id: None, context_id: ContextId(0) };
        vec![Example { name: "flows", params, result: FlowPage { flows: vec![sample::flow_summary()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::JobsOf(self.context_id, self.caller_id.as_deref())
    }

    async fn call(self, app: &App, _: &Session) -> Result<FlowPage, Error> {
        Ok(app.flows().list(self.context_id, self.caller_id.as_deref(), self.cursor.as_deref(), self.limit.get()).await?)
    }
}

/// Stops all jobs of a flow that have not ended. Gives the status of the flow, whose running scripts may not have obeyed yet.
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
    const ERRORS: &'static [Code] = &[Code::State, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The status that the flow has then.";
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

/// Runs those jobs of a flow again that ended in error, with all that never ran because of them. Gives the status of the flow.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryFlow {
    /// The flow to retry.
    flow_id: FlowId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for RetryFlow {
    const NAME: &'static str = "retry_flow";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Run;
    const ERRORS: &'static [Code] = &[Code::State, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The status that the flow has then.";
    type Output = FlowStatus;

    fn examples() -> Vec<Example<Self, FlowStatus>> {
        vec![Example { name: "retry", params: Self { flow_id: FlowId(2), context_id: ContextId(0) }, result: FlowStatus::Started }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Flow(self.context_id, self.flow_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<FlowStatus, Error> {
        Ok(app.flows().retry(self.context_id, self.flow_id).await?)
    }
}

/// Deletes a flow that does not run, with its jobs. Gives true.
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
