use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::{Code, Error};
use crate::method::{Example, Items, Subscription};
use crate::methods::notice::notices_and_gaps;
use crate::methods::{sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::api::EventNotice;
use hero_model::{ContextId, JobId, Status};

/// Follows a job to its end. Without a cursor, the first item is the current state.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscribeJob {
    /// The job to follow.
    job_id: JobId,
    /// The `cursor` of the last event that was seen.
    cursor: Option<String>,
    /// The context it belongs to.
    #[serde(default)]
    context_id: ContextId,
}

impl Subscription for SubscribeJob {
    const NAME: &'static str = "subscribe_job";
    const NOTIFICATION: &'static str = "job";
    const UNSUBSCRIBE: &'static str = "unsubscribe_job";
    const TAG: &'static str = tag::SUBSCRIPTIONS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::JobNotFound, Code::StoreUnavailable, Code::NotFound];
    type Item = EventNotice;

    fn examples() -> Vec<Example<Self, EventNotice>> {
        let job_id = sample::waiting_job_id();
        let result = EventNotice::Event(sample::event(job_id.clone(), Status::Created));
        vec![Example { name: "follow a job", params: Self { job_id, cursor: None, context_id: ContextId(0) }, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::Job(self.context_id, &self.job_id)
    }

    async fn open(self, app: &App, _: &Session) -> Result<Items<Self::Item>, Error> {
        let job_id = app.dispatcher.jobs().spelled(self.context_id, self.job_id).await?;
        Ok(notices_and_gaps(app.dispatcher.jobs().follow(self.context_id, &job_id, self.cursor.as_deref()).await?))
    }
}
