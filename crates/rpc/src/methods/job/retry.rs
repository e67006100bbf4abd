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

/// Runs an ended job again. Returns its status.
///
/// Its attempts are counted on, its retries begin anew, and its previous result is gone. Jobs that waited for it and
/// ended in error with it are not retried.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetryJob {
    /// The job to run again.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for RetryJob {
    const NAME: &'static str = "retry_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Run;
    const EFFECT: Effect = Effect::Runs;
    const ERRORS: &'static [Code] = CHANGE_ERRORS;
    const RESULT: &'static str = "The status of the job after the call.";
    type Output = Status;

    fn examples() -> Vec<Example<Self, Status>> {
        let params = Self { job_id: sample::stopped_job_id(), context_id: ContextId(0) };
        vec![Example { name: "retry", params, result: Status::Dispatched }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Status, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.jobs().retry(self.context_id, &job_id).await?)
    }
}
