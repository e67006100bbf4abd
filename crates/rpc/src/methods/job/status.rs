use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::LOOK_ERRORS;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, JobId, Status};

/// Returns the status of a job.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetStatus {
    /// The job to look at.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetStatus {
    const NAME: &'static str = "get_status";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = LOOK_ERRORS;
    const RESULT: &'static str = "The status of the job.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "status", params, result: Status::Finished }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.jobs().status(self.context_id, &job_id).await?)
    }
}
