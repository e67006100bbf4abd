use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{PageSize, is_default, sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, Job, JobFilter, JobPage, Status};

/// Lists jobs, newest first.
///
/// A page may have fewer jobs than `limit`, or none, although more follow: only the last page has no `next_cursor`.
/// Long values are cut after 1 KB or left out: `truncated` names them, and `get_job` returns them in full.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListJobs {
    /// The conditions, all of which a job must meet.
    #[serde(default, skip_serializing_if = "is_default")]
    filter: JobFilter,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
    /// The maximum number of jobs.
    #[serde(default)]
    limit: PageSize,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for ListJobs {
    const NAME: &'static str = "list_jobs";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "The matching jobs, newest first.";
    type Output = JobPage;

    fn examples() -> Vec<Example<Self, JobPage>> {
        let filter = JobFilter { status: Some(Status::Finished), ..JobFilter::default() };
        let params = Self { filter, cursor: None, limit: PageSize::default(), context_id: ContextId(0) };
        // A list does not show how attempts ended.
        let job = Job { attempts: Vec::new(), ..sample::job() };
        vec![Example { name: "finished", params, result: JobPage { jobs: vec![job], next_cursor: None } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::JobsOf(self.context_id, self.filter.caller_id.as_deref())
    }

    async fn call(self, app: &App, _: &Session) -> Result<JobPage, Error> {
        // This is well below the limit of a response.
        let bytes = usize::try_from(app.details.limits.response_bytes / 2).unwrap_or(usize::MAX);
        let page = app.dispatcher.jobs().list_within(self.context_id, &self.filter, self.cursor.as_deref(), self.limit.get(), bytes);
        Ok(page.await?)
    }
}
