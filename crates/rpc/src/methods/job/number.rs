use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, JobId};

/// Mirrors a job in Redis as a hash of the coordinator's specification. Returns the key: `job:{caller}:{n}`.
///
/// From then on, each change of the job is also written there, and the hash is deleted with the job. A job that has
/// such a key keeps it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberJob {
    /// The job to number.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for NumberJob {
    const NAME: &'static str = "number_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::Adds;
    const ERRORS: &'static [Code] = &[Code::JobNotFound, Code::QueueFull, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The key in Redis.";
    type Output = String;

    fn examples() -> Vec<Example<Self, String>> {
        let params = Self { job_id: sample::job_id(), context_id: ContextId(0) };
        vec![Example { name: "number", params, result: "job:0:1".to_owned() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<String, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.jobs().number(self.context_id, &job_id).await?)
    }
}
