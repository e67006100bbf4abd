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
use hero_model::{ContextId, JobId, Status};

/// Starts a created job. Returns its status.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartJob {
    /// The job to start.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for StartJob {
    const NAME: &'static str = "start_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Run;
    const EFFECT: Effect = Effect::Runs;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The status of the job after the call.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "start", params, result: Status::Dispatched }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.jobs().start(self.context_id, &job_id).await?)
    }
}
