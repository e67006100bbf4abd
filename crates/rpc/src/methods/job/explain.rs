use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::method::{Example, Method};
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Explanation, JobId, Reason, Status};

/// Explains why a job is not running, or how it ended: as a word, a sentence, and the facts behind them.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainJob {
    /// The job to look at.
    job_id: JobId,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ExplainJob {
    const NAME: &'static str = "explain_job";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::JobNotFound, Code::StoreUnavailable, Code::NotFound];
    const RESULT: &'static str = "The reason, and the facts behind it.";
    type Output = Explanation;

    fn examples() -> Vec<Example<Self, Explanation>> {
        let (job_id, message) = (sample::waiting_job_id(), "it was never started; start_job starts it");
        let result = Explanation::new(job_id.clone(), Status::Created, Reason::NotStarted, message);
        vec![Example { name: "explain", params: Self { job_id, context_id: ContextId(0) }, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<Explanation, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(app.dispatcher.jobs().explain(self.context_id, &job_id).await?)
    }
}
