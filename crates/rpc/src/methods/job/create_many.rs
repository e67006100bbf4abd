use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CREATE_ERRORS, signed};
use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::act;
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, JobId, JobSpec};

/// Stores several jobs, or none if one is refused, and starts them if `start` is set. Returns their ids, in order.
///
/// Jobs with a `job_id` may name each other, in any order. All jobs belong to one context. One call takes at most 1000
/// jobs, which name at most 2000 others and have at most 2 MB. The error for a refused job has its index in
/// `data.index`. Jobs that an earlier call with the same keys created are started after the others.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateJobs {
    /// The jobs to store.
    jobs: Vec<JobSpec>,
    /// Starts the jobs at once, as `start_job` does, in one call. At most 64 jobs can be started so, which name at most
    /// 100 others and have at most 128 kB. Otherwise they stay `created` until they are started.
    #[serde(default)]
    start: bool,
}

impl Method for CreateJobs {
    const NAME: &'static str = "create_jobs";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Submit;
    const EFFECT: Effect = Effect::RunsWithKey;
    const ERRORS: &'static [Code] = CREATE_ERRORS;
    // The size is that of the parameters, not of the answer: a thousand jobs take fifteen times the memory of their text, until Redis has
    // taken the jobs before them.
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The ids of the jobs, in the order given.";
    type Output = Vec<JobId>;

    fn examples() -> Vec<Example<Self, Vec<JobId>>> {
        let job = |script: &str, id: &JobId| JobSpec { script: script.into(), job_id: Some(id.clone()), ..JobSpec::default() };
        let ids = vec![sample::stopped_job_id(), sample::waiting_job_id(), sample::deleted_job_id()];
        let jobs = std::iter::zip(["40 + 2", "6 * 7", "84 / 2"], &ids).map(|(script, id)| job(script, id)).collect();
        vec![Example { name: "create three", params: Self { jobs, start: false }, result: ids }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::NewJobs(self.jobs.first().map_or(ContextId(0), |spec| spec.context_id), self.jobs.iter().collect())
    }

    fn made(ids: &Self::Output) -> Option<String> {
        act::jobs(ids.iter())
    }

    async fn call(self, app: &App, session: &Session) -> Result<Vec<JobId>, Error> {
        let specs = self.jobs.into_iter().map(|spec| signed(spec, session)).collect();
        Ok(if self.start { app.dispatcher.jobs().run_many(specs).await? } else { app.dispatcher.jobs().create_many(specs).await? })
    }
}
