use schemars::JsonSchema;
use serde::Serialize;

use super::{CREATE_ERRORS, signed};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::params::{FromParameters, GivenParams, ParamsError};
use crate::session::act::object;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{JobId, JobSpec};

/// Stores a job, and starts it if `start` is set. Returns its id.
///
/// A repeated call with the same `idempotency_key` and the same parameters returns the same job.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateJob {
    #[serde(flatten)]
    spec: JobSpec,
    /// Starts the job at once, as `start_job` does, in one call. Otherwise it stays `created` until it is started.
    #[serde(default)]
    start: bool,
}

/// This is written by hand for the reasons of [`RunAndWait`](super::RunAndWait).
impl FromParameters for CreateJob {
    fn read(mut given: GivenParams<'_>) -> Result<Self, ParamsError> {
        let start = given.take("start")?.unwrap_or_default();
        Ok(Self { spec: given.rest()?, start })
    }
}

impl Method for CreateJob {
    const NAME: &'static str = "create_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::RunsWithKey;
    const ERRORS: &'static [Code] = CREATE_ERRORS;
    const RESULT: &'static str = "The id of the job.";
    type Output = JobId;

    fn examples() -> Vec<Example<Self, JobId>> {
        vec![Example { name: "create", params: Self { spec: sample::job_spec(), start: false }, result: sample::job_id() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewJobs(self.spec.context_id, vec![&self.spec])
    }

    fn made(id: &Self::Output) -> Option<String> {
        Some(object("job", id))
    }

    async fn call(self, app: &App, session: &Session) -> Result<JobId, Error> {
        let spec = signed(self.spec, session);
        Ok(if self.start { app.dispatcher.jobs().run(spec).await? } else { app.dispatcher.jobs().create(spec).await? })
    }
}
