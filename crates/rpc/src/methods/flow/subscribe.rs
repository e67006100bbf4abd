use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::{Code, Error};
use crate::method::{Example, Items, Subscription};
use crate::methods::notice::notices;
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::api::FlowNotice;
use hero_model::{ContextId, FlowId};

/// Follows a flow to its end. The first item is the current state of the flow. Then follow one item for each change of
/// a job, the end of the flow, and `ended`. With a cursor, the changes after it come first. An item without a `job` is
/// the current state of the flow; it also stands for changes of jobs that were lost because the subscriber reads too
/// slowly.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscribeFlow {
    /// The flow to follow.
    flow_id: FlowId,
    /// The `cursor` of the last item that was seen.
    cursor: Option<String>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Subscription for SubscribeFlow {
    const NAME: &'static str = "subscribe_flow";
    const NOTIFICATION: &'static str = "flow";
    const UNSUBSCRIBE: &'static str = "unsubscribe_flow";
    const TAG: &'static str = tag::SUBSCRIPTIONS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    type Item = FlowNotice;

    fn examples() -> Vec<Example<Self, FlowNotice>> {
        let params = Self { flow_id: FlowId(1), cursor: None, context_id: ContextId(0) };
        vec![Example { name: "follow a flow", params, result: sample::flow_event().into() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Flow(self.context_id, self.flow_id)
    }

    async fn open(self, app: &App, _: &Session) -> Result<Items<FlowNotice>, Error> {
        Ok(notices(app.flows().follow(self.context_id, self.flow_id, self.cursor.as_deref()).await?))
    }
}
