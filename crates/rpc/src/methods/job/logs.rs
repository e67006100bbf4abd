use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::effect::Effect;
use crate::error::{Code, Error};
use crate::memory::Size;
use crate::method::{Example, Method};
use crate::methods::{PageSize, sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::{ContextId, JobId, LogPage};

/// Returns log lines of a job, oldest first.
///
/// A page also ends after about a megabyte, so a page with lines, but fewer than `limit`, may not be the last. While
/// the job can log more, even a page without lines has a `next_cursor`: call again with it, or use `subscribe_logs`.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetLogs {
    /// The job whose log to read.
    job_id: JobId,
    /// The `next_cursor` of the page before, or the `cursor` of a line.
    cursor: Option<String>,
    /// The maximum number of lines.
    #[serde(default)]
    limit: PageSize,
    /// The context the job belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Method for GetLogs {
    const NAME: &'static str = "get_logs";
    const TAG: &'static str = tag::JOBS;
    const PERMISSION: Permission = Permission::Read;
    const EFFECT: Effect = Effect::Reads;
    const ERRORS: &'static [Code] = &[Code::JobNotFound, Code::TooLarge, Code::StoreUnavailable, Code::NotFound];
    const SIZE: Size = Size::Large;
    const RESULT: &'static str = "Lines of the log, oldest first.";
    type Output = LogPage;

    fn examples() -> Vec<Example<Self, LogPage>> {
        let params = Self { job_id: sample::job_id(), cursor: None, limit: PageSize::default(), context_id: ContextId(0) };
        vec![Example { name: "first page", params, result: LogPage { lines: vec![sample::line()], next_cursor: None, ended: true } }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn call(self, app: &App, _: &Session) -> Result<LogPage, Error> {
        // In JSON, a text can be six times as long.
        let bytes = usize::try_from(app.details.limits.response_bytes / 8).unwrap_or(usize::MAX);
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        let page = app.dispatcher.logs().page_within(self.context_id, &job_id, self.cursor.as_deref(), self.limit.get(), bytes);
        Ok(page.await?)
    }
}
