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
use hero_model::{ContextId, SchedulePage};

/// Lists schedules in the order of their next runs.
///
/// A schedule that runs meanwhile may be on two pages; none is left out. A page may have fewer schedules than `limit`,
/// or none, although more follow: only the last page has no `next_cursor`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListSchedules {
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The maximum number of schedules.
    #[serde(default)]
    limit: PageSize,
    /// Only schedules that this caller created.
    caller_id: Option<String>,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListSchedules {
    const NAME: &'static str = "list_schedules";
    const TAG: &'static str = tag::SCHEDULES;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The schedules.";
    type Output = SchedulePage;

    fn examples() -> Vec<Example<Self, SchedulePage>> {
        let params = Self { cursor: None, limit: PageSize::default(), caller_id: None, context_id: ContextId(0) };
        vec![Example { name: "schedules", params, result: SchedulePage { schedules: vec![sample::schedule()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::JobsOf(self.context_id, self.caller_id.as_deref())
    }

    async fn call(self, app: &App, _: &Session) -> Result<SchedulePage, Error> {
        let mut page = app.dispatcher.schedules().list(self.context_id, self.cursor.as_deref(), self.limit.get()).await?;
        if let Some(caller) = self.caller_id {
            page.schedules.retain(|schedule| schedule.job.caller_id.as_ref() == Some(&caller));
        }
        Ok(page)
    }
}
