use futures_util::StreamExt as _;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::{Code, Error};
use crate::method::{Example, Items, Subscription};
use crate::methods::notice::notices_and_gaps;
use crate::methods::{is_default, sample, tag};
use crate::session::auth::{Permission, Session};
use crate::session::guard::Concern;
use hero_model::api::{Began, EventNotice};
use hero_model::{ContextId, JobFilter, Status};

/// Follows every change of the jobs that match a filter, from now on or from a cursor. Without a cursor, the first item
/// has the cursor where the subscription begins.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscribeEvents {
    /// The conditions, all of which a job must meet.
    #[serde(default, skip_serializing_if = "is_default")]
    filter: JobFilter,
    /// The `cursor` of the last event that was seen.
    cursor: Option<String>,
    /// The context they belong to.
    #[serde(default)]
    context_id: ContextId,
}

impl Subscription for SubscribeEvents {
    const NAME: &'static str = "subscribe_events";
    const NOTIFICATION: &'static str = "events";
    const UNSUBSCRIBE: &'static str = "unsubscribe_events";
    const TAG: &'static str = tag::SUBSCRIPTIONS;
    const PERMISSION: Permission = Permission::Read;
    const ERRORS: &'static [Code] = &[Code::StoreUnavailable, Code::NotFound];
    type Item = EventNotice;

    fn examples() -> Vec<Example<Self, EventNotice>> {
        let filter = JobFilter { status: Some(Status::Finished), ..JobFilter::default() };
        // With this cursor the items begin at the first event that Redis still has.
        let params = Self { filter, cursor: Some("0-0".into()), context_id: ContextId(0) };
        let result = EventNotice::Event(sample::event(sample::job_id(), Status::Finished));
        vec![Example { name: "follow what finishes", params, result }]
    }

    fn concern(&self) -> Concern<'_> {
        Concern::JobsOf(self.context_id, self.filter.caller_id.as_deref())
    }

    async fn open(self, app: &App, _: &Session) -> Result<Items<Self::Item>, Error> {
        let (cursor, is_new) = match self.cursor {
            Some(cursor) => (cursor, false),
            None => (app.dispatcher.events().last_change(self.context_id).await?, true),
        };
        let items = notices_and_gaps(app.dispatcher.events().follow(self.context_id, self.filter, Some(&cursor)).await?);
        // A client that loses the connection before the first change has a cursor to go on from.
        let began = is_new.then_some(Ok(EventNotice::Began(Began { cursor })));
        Ok(futures_util::stream::iter(began).chain(items).boxed())
    }
}
