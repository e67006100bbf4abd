use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, JobId, JobResult};

/// Returns the result of an ended job. A job that ended in error is a JSON-RPC error.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetResult {
    /// The job to look at.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetResult {
    const NAME: &'static str = "get_result";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] =
        &[Code::JobNotFound, Code::State, Code::TooLarge, Code::StoreUnavailable, Code::NotFound, Code::JobFailed, Code::JobStopped];
    const SIZE: Size = Size::Medium;
    const RESULT: &'static str = "The result of the job.";
    type Output = JobResult;

    fn examples() -> Vec<Example<Self, JobResult>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "result", params, result: sample::result() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<JobResult, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        let largest = app.details.limits.response_bytes as usize;
        Ok(app.dispatcher.jobs().result_within(self.context_id, &job_id, largest).await?)
    }
}
