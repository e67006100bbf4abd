use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::{Code, Error};
use crate::method::{Example, Items, Subscription};
use crate::methods::notice::notices_and_gaps;
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::api::LogNotice;
use hero_model::{ContextId, JobId};

const ERRORS: &[Code] = &[Code::JobNotFound, Code::StoreUnavailable, Code::NotFound];

/// Follows the log of a job, from its first line or from a cursor. The subscription ends when the job has ended and its
/// last line was sent.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscribeLogs {
    /// The job whose log to follow.
    job_id: JobId,
    /// The `cursor` of the last line that was seen.
    cursor: Option<String>,
    /// The context the job belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Subscription for SubscribeLogs {
    const NAME: &'static str = "subscribe_logs";
    const NOTIFICATION: &'static str = "logs";
    const UNSUBSCRIBE: &'static str = "unsubscribe_logs";
    const TAG: &'static str = tag::SUBSCRIPTIONS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = ERRORS;
    type Item = LogNotice;

    fn examples() -> Vec<Example<Self, LogNotice>> {
        let params = Self { job_id: sample::job_id(), cursor: None, context_id: ContextId(0) };
        vec![Example { name: "follow a log", params, result: LogNotice::Line(sample::line()) }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn open(self, app: &App, _: &Session) -> Result<Items<Self::Item>, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(notices_and_gaps(app.dispatcher.logs().follow(self.context_id, &job_id, self.cursor.as_deref()).await?))
    }
}
