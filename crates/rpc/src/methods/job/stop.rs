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

/// Stops a job that has not ended. Returns its status.
///
/// The call waits up to one second for a running script to end. The script is stopped in any case.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopJob {
    /// The job to stop.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for StopJob {
    const NAME: &'static str = "stop_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Run;
    const EFFECT: Effect = Effect::Replaces;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The status of the job after the call.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::stopped_job_id(), context_id: ContextId(0) };
        vec![Example { name: "stop", params, result: Status::Error }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.jobs().stop(self.context_id, &job_id).await?)
    }
}
