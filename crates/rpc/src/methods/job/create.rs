use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{CREATE_ERRORS, signed};
use crate::act::object;
use crate::app::App;
use crate::auth::{Permission, Session};
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::guard::Concern;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use hero_model::{JobId, JobSpec};

/// Stores a job without starting it. Gives its id.
///
/// The same `idempotency_key` with the same parameters gives the same job again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CreateJob {
    #[serde(flatten)]
    spec: JobSpec,
}

impl<'de> Deserialize<'de> for CreateJob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JobSpec::deserialize(deserializer).map(|spec| Self { spec })
    }
}

impl Method for CreateJob {
    const NAME: &'static str = "create_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::AddsWithKey;
    const ERRORS: &'static [Code] = CREATE_ERRORS;
    const RESULT: &'static str = "The id of the job.";
    type Output = JobId;

    fn examples() -> Vec<Example<Self, JobId>> {
        vec![Example { name: "create", params: Self { spec: sample::job_spec() }, result: sample::job_id() }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewJobs(self.spec.context_id, vec![&self.spec])
    }

    fn made(id: &Self::Output) -> Option<String> {
        Some(object("job", id))
    }

    async fn call(self, app: &App, session: &Session) -> Result<JobId, Error> {
        Ok(app.dispatcher.create(signed(self.spec, session)).await?)
    }
}
