use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{PageSize, sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, RunnerPage};

/// Lists runners by number.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListRunners {
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The maximum number of runners.
    #[serde(default)]
    limit: PageSize,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListRunners {
    const NAME: &'static str = "list_runners";
    const TAG: &'static str = tag::COORDINATOR;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = ERRORS;
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The runners.";
    type Output = RunnerPage;

    fn examples() -> Vec<Example<Self, RunnerPage>> {
        let params = Self { cursor: None, limit: PageSize::default(), context_id: ContextId(0) };
        vec![Example { name: "runners", params, result: RunnerPage { runners: vec![sample::runner()], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Context(self.context_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<RunnerPage, Error> {
        Ok(app.runners.list(self.context_id, self.cursor.as_deref(), self.limit.get()).await?)
    }
}
