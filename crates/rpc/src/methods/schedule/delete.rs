use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, ScheduleId};

/// Deletes a schedule. Its existing jobs stay. Returns true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSchedule {
    /// The schedule to delete.
    schedule_id: ScheduleId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteSchedule {
    const NAME: &'static str = "delete_schedule";
    const TAG: &'static str = tag::SCHEDULES;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        let params = Self { schedule_id: sample::schedule_id(), context_id: ContextId(0) };
        vec![Example { name: "delete", params, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Schedule(self.context_id, &self.schedule_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        app.dispatcher.schedules().delete(self.context_id, &self.schedule_id).await?;
        Ok(true)
    }
}
