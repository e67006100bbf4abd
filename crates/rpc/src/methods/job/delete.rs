use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::CHANGE_ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, JobId};

/// Deletes a job that is not running, with its log. Returns true.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteJob {
    /// The job to delete.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for DeleteJob {
    const NAME: &'static str = "delete_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "True.";
    type Output = bool;

    fn examples() -> Vec<Example<Self, bool>> {
        let params = Self { job_id: sample::deleted_job_id(), context_id: ContextId(0) };
        vec![Example { name: "delete", params, result: true }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<bool, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        app.dispatcher.jobs().delete(self.context_id, &job_id).await?;
        Ok(true)
    }
}
