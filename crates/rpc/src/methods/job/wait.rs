use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::waited::Waited;
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method, Within};
use crate::methods::{Wait, sample, tag};
use crate::session::act::Act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, JobId, JobResult};

/// The errors of waiting for a job, besides those of starting it.
const WAIT_ERRORS: &[Code] =
    &[Code::JobNotFound, Code::TooLarge, Code::StoreUnavailable, Code::NotFound, Code::JobFailed, Code::WaitRanOut, Code::JobStopped];

/// Waits for the end of a job and returns its result.
///
/// A job that ends in error is a JSON-RPC error. When the wait runs out, the error says why the job has not ended.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitJob {
    /// The job to wait for.
    job_id: JobId,
    /// How many seconds to wait; 0 checks once without waiting.
    #[serde(default)]
    wait_timeout: Wait,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for WaitJob {
    const NAME: &'static str = "wait_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = WAIT_ERRORS;
    const WAITS: bool = true;
    const RESULT: &'static str = "The result of the job.";
    type Output = JobResult;

    fn examples() -> Vec<Example<Self, JobResult>> {
        let params = Self { job_id: sample::job_id(), wait_timeout: Wait::default(), context_id: ContextId(0) };
        vec![Example { name: "wait", params, result: sample::result() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, session: &Session) -> Result<JobResult, Error> {
        self.wait(app, session, false).await
    }

    async fn call_within(self, app: &App, session: &Session, within: Within<'_>) -> Result<JobResult, Error> {
        self.wait(app, session, within.batch.is_some()).await
    }

    /// Does nothing, because a notification has no caller who waits for the result.
    async fn notify(self, _: &App, _: &Session, _: &mut Act) -> Result<(), Error> {
        Ok(())
    }
}

impl WaitJob {
    async fn wait(self, app: &App, session: &Session, in_batch: bool) -> Result<JobResult, Error> {
        let (context, wait) = (self.context_id, self.wait_timeout.duration());
        let deadline = Instant::now() + wait;
        let job_id = app.dispatcher.jobs().spelled(context, self.job_id).await?;
        let awaited = app.dispatcher.jobs().wait_until_end(context, &job_id, wait).await?;
        Waited { context, deadline, in_batch }.result(awaited, app, session).await
    }
}
