use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{PageSize, sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, FlowPage};

/// Lists flows, newest first.
///
/// A page may have fewer flows than `limit`, or none, although more follow: only the last page has no `next_cursor`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListFlows {
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The maximum number of flows.
    #[serde(default)]
    limit: PageSize,
    /// Only flows that this caller created.
    caller_id: Option<String>,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListFlows {
    const NAME: &'static str = "list_flows";
    const TAG: &'static str = tag::FLOWS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound, Code::TooLarge];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The flows, newest first.";
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
